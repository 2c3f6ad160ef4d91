"""From block to block: branches that all lanes take together, branches where they diverge, and the
values and masks that each edge hands on."""

from __future__ import annotations

from openmps.emit.ir.flow import EXIT
from openmps.emit.ir.model import Block, Instruction, Operand
from openmps.emit.lanes.block_layout import BlockLayout
from openmps.emit.lanes.matrix_rows import MatrixRows
from openmps.emit.lanes.values import ALL_LANES, MASK, NO_LANES, Values, vector
from openmps.emit.lanes.width import WIDTH

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


class Branches:
    def __init__(self, values: Values, layout: BlockLayout, rows: MatrixRows) -> None:
        self.values = values
        self.rows = rows
        self.out = values.out
        self.layout = layout
        self.function = layout.function
        self.lanes = layout.lanes
        self.graph = layout.graph
        self.phi_slot: dict[str, str] = {}
        self.leave_slot: dict[str, str] = {}
        self.mask_slot: dict[str, str] = {}
        for name in filter(layout.owns_mask, self.graph.order):
            slot = self.mask_slot[name] = self.out.alloca(MASK)
            self.out.allocas.append(f"  store {MASK} {NO_LANES}, ptr {slot}")

    # Values and masks that cross blocks

    def _phi_slot(self, i: Instruction) -> tuple[str, str]:
        kind = i.type.text if self.lanes.strides[i.result] is not None else vector(i.type)
        if i.result not in self.phi_slot:
            self.phi_slot[i.result] = self.out.alloca(kind)
        return kind, self.phi_slot[i.result]

    def read_phi(self, i: Instruction) -> None:
        kind, slot = self._phi_slot(i)
        text = self.out.let(f"load {kind}, ptr {slot}")
        if self.lanes.strides[i.result] is None:
            self.values.define_vector(i, text)
            self.rows.read_phi(i)
        else:
            self.values.define_scalar(i, text)

    def write_leave(self, i: Instruction) -> None:
        values = self.values
        if self.lanes.strides[i.result] is not None:
            values.define_scalar(i, values.scalar(i.operands[0]))
            return
        value = values.vector(i.operands[0])
        if not any(header in self.lanes.divergent_loops for header in i.targets):
            values.define_vector(i, value)
            return
        kind = vector(i.type)
        slot = self.leave_slot.setdefault(i.result, "") or self.out.alloca(kind)
        self.leave_slot[i.result] = slot
        values.slots[i.result] = slot
        old = self.out.let(f"load {kind}, ptr {slot}")
        kept = values.blend(i.type, values.mask, value, old)
        self.out.line(f"store {kind} {kept}, ptr {slot}")
        values.vectors[i.result] = kept

    def _phi_updates(self, source: str, target: str, mask: str) -> list[str]:
        """The stores that bring a successor's phis up to date, values already computed."""
        stores = []
        blended = {}
        block = self.function.blocks[target]
        for phi in block.phis():
            operand = phi.operands[phi.targets.index(source)]
            kind, slot = self._phi_slot(phi)
            if self.lanes.strides[phi.result] is not None:
                stores.append(f"store {kind} {self.values.scalar(operand)}, ptr {slot}")
                continue
            value = self.values.vector(operand)
            if self._must_blend(source, target):
                old = self.out.let(f"load {kind}, ptr {slot}")
                value = blended[phi.result] = self.values.blend(phi.type, mask, value, old)
            stores.append(f"store {kind} {value}, ptr {slot}")
        stores += self.rows.phi_updates(source, target, blended)
        return stores

    def _must_blend(self, source: str, target: str) -> bool:
        """Whether lanes that come by other edges have left values that must stay."""
        if self.graph.is_back_edge(source, target):
            return False
        if self.lanes.leaves_divergent_loop(source, target):
            return True
        before = self.graph.forward_predecessors(target)
        if source == min(before, key=self.graph.index.__getitem__) and not any(
            self.lanes.leaves_divergent_loop(other, target) for other in before
        ):
            return False
        return not (
            self.layout.root[source] == self.layout.root[target]
            and source not in self.lanes.divergent
        )

    def _mask_update(self, target: str, mask: str) -> None:
        if self.layout.root[target] != target:
            return
        slot = self.mask_slot[target]
        old = self.out.let(f"load {MASK}, ptr {slot}")
        new = self.out.let(f"or {MASK} {old}, {mask}")
        self.out.line(f"store {MASK} {new}, ptr {slot}")

    def write_end(self, block: Block) -> None:
        end, name = block.end, block.name
        if end.op not in ("br", "switch", "ret", "unreachable"):
            raise end.unsupported("a block that ends in something else than a branch")
        targets = self.graph.successors[name]
        if not targets:
            self.out.line(f"br label %{self.layout.next_label(name, EXIT)}")
        elif name in self.lanes.divergent or self._repeats_divergent_loop(name):
            self._write_divergent(block)
        elif len(targets) == 1:
            self._write_edge(name, targets[0])
        else:
            self._write_uniform(block)

    def _repeats_divergent_loop(self, name: str) -> bool:
        return any(
            t in self.lanes.divergent_loops and self.graph.is_back_edge(name, t)
            for t in self.graph.successors[name]
        )

    def _write_edge(self, source: str, target: str) -> None:
        mask = self.values.mask
        for store in self._phi_updates(source, target, mask):
            self.out.line(store)
        self._mask_update(target, mask)
        self.out.line(f"br label %{self.layout.next_label(source, target)}")

    def _write_uniform(self, block: Block) -> None:
        end = block.end
        edges = {t: self.out.new_label("edge") for t in self.graph.successors[block.name]}
        condition = self.values.scalar(end.operands[0])
        if end.op == "br":
            yes, no = (edges[t] for t in end.targets)
            self.out.line(f"br i1 {condition}, label %{yes}, label %{no}")
        else:
            kind = end.operands[0].type.text
            cases = " ".join(
                f"{kind} {case}, label %{edges[target]}"
                for case, target in zip(end.cases, end.targets[1:], strict=True)
            )
            default = edges[end.targets[0]]
            self.out.line(f"switch {kind} {condition}, label %{default} [ {cases} ]")
        for target, label in edges.items():
            self.out.label(label)
            with self.values.aside():
                self._write_edge(block.name, target)

    def _edge_masks(self, block: Block) -> dict[str, str]:
        end, values = block.end, self.values
        if not end.operands:
            return {end.targets[0]: values.mask}
        condition = values.vector(end.operands[0])
        if end.op == "br":
            turned = self.out.let(f"xor {MASK} {condition}, {ALL_LANES}")
            yes, no = end.targets
            return {
                yes: values.where(values.mask, condition),
                no: values.where(values.mask, turned),
            }
        kind = end.operands[0].type
        masks: dict[str, str] = {}
        rest = values.mask
        for case, target in zip(end.cases, end.targets[1:], strict=True):
            same = values.splat(kind, case)
            equal = self.out.let(f"icmp eq {vector(kind)} {condition}, {same}")
            hit = values.where(values.mask, equal)
            turned = self.out.let(f"xor {MASK} {equal}, {ALL_LANES}")
            rest = values.where(rest, turned)
            if target in masks:
                hit = self.out.let(f"or {MASK} {masks[target]}, {hit}")
            masks[target] = hit
        default = end.targets[0]
        if default in masks:
            rest = self.out.let(f"or {MASK} {masks[default]}, {rest}")
        masks[default] = rest
        return masks

    def _write_divergent(self, block: Block) -> None:
        name = block.name
        targets = self.graph.successors[name]
        back = next((t for t in targets if self.graph.is_back_edge(name, t)), "")
        if back and len(targets) > 1:
            self._write_all_stay(block, back)
        masks = self._edge_masks(block)
        stores = []
        for target, mask in masks.items():
            stores += self._phi_updates(name, target, mask)
        for store in stores:
            self.out.line(store)
        for target, mask in masks.items():
            self._mask_update(target, mask)
        after = self.layout.next_label(name, EXIT)
        if back:
            again = self.values.any_lane(masks[back])
            self.out.line(f"br i1 {again}, label %{self.layout.body_label(back)}, label %{after}")
        else:
            self.out.line(f"br label %{after}")

    def _write_all_stay(self, block: Block, back: str) -> None:
        """A short cut while no lane leaves the loop, where two scalar comparisons can tell:
        `start + lane < end` and the like, the usual loop of a thread over its share."""
        stays = self._all_lanes(block.end.operands[0], block.end.targets[0] == back)
        if not stays:
            return
        quick, slow = self.out.new_label("stay"), self.out.new_label("part")
        self.out.line(f"br i1 {stays}, label %{quick}, label %{slow}")
        self.out.label(quick)
        with self.values.aside():
            if self._all_stay_full(block.name, back):
                # The header's mask is all lanes, and stays so: there is no need to look at it.
                for store in self._phi_updates(block.name, back, ALL_LANES):
                    self.out.line(store)
                self.out.line(f"br label %{self.layout.full_label(back)}")
            else:
                self._write_edge(block.name, back)
        self.out.label(slow)

    def _all_stay_full(self, source: str, header: str) -> bool:
        """Whether this is written for all lanes, and those are all that the loop's header has."""
        layout = self.layout
        return (
            self.values.mask == ALL_LANES
            and header in layout.doubled
            and layout.root[source] == layout.root[header] == header
        )

    def _all_lanes(self, condition: Operand, wanted: bool) -> str:
        """A scalar that is true only if the comparison comes out as wanted in all 32 lanes."""
        i = self.values.defined.get(condition.value)
        if i is None or i.op != "icmp" or i.operands[0].type.kind != "int":
            return ""
        sign = i.detail[0]
        strides = [self.lanes.stride(o) for o in i.operands]
        if None in strides or sign not in "us" or strides.count(0) != 1:
            return ""
        if not all(self._readable(o) for o in i.operands):
            return ""
        out, values = self.out, self.values
        kind = i.operands[0].type
        moving = 0 if strides[0] else 1
        stride = strides[moving] or 0
        if abs(stride) * WIDTH >= 1 << (kind.bits - 1):
            return ""
        first = values.scalar(i.operands[moving])
        fixed = values.scalar(i.operands[1 - moving])
        reach = stride * (WIDTH - 1)
        last = out.let(f"add {kind.text} {first}, {reach % (1 << kind.bits)}")
        if sign == "u" and stride > 0:
            # As lane_memory asks it of an index: the second question then costs nothing.
            most = (1 << kind.bits) - 1 - reach
            in_order = out.let(f"icmp ule {kind.text} {first}, {most}")
        else:
            order = "ge" if stride > 0 else "le"
            in_order = out.let(f"icmp {sign}{order} {kind.text} {last}, {first}")
        predicate = i.detail if wanted else sign + _OPPOSITE[i.detail[1:]]
        # The comparison holds for all lanes if it does for the one that it holds least for.
        highest_counts = (predicate[1] == "l") == (moving == 0)
        end = last if highest_counts == (stride > 0) else first
        pair = (end, fixed) if moving == 0 else (fixed, end)
        holds = out.let(f"icmp {predicate} {kind.text} {pair[0]}, {pair[1]}")
        return out.let(f"and i1 {in_order}, {holds}")

    def _readable(self, operand: Operand) -> bool:
        """Whether the value can be read here, though this block may not be a user of it."""
        home = self.lanes.block_of.get(operand.value)
        here = self.values.block
        return home is None or home == here or self.layout.reads_directly(home, here)
