from __future__ import annotations

import pytest
import torch

from ..agreement import assert_matches

VIEWS = {
    "view": lambda t: t.view(6, 4),
    "view_as": lambda t: t.view_as(torch.empty(24)),
    "view_dtype": lambda t: t.view(torch.int32),
    "view_smaller_dtype": lambda t: t.view(torch.int16),
    "reshape": lambda t: t.reshape(4, 6),
    "flatten": lambda t: t.flatten(),
    "unflatten": lambda t: t.unflatten(2, (2, 2)),
    "transpose": lambda t: t.transpose(0, 2),
    "swapaxes": lambda t: t.swapaxes(0, 1),
    "movedim": lambda t: t.movedim(0, 2),
    "permute": lambda t: t.permute(2, 0, 1),
    "mT": lambda t: t.mT,
    "slice": lambda t: t[:, 1:3],
    "slice_with_step": lambda t: t[..., ::2],
    "select": lambda t: t[1],
    "select_all": lambda t: t[1, 2, 3],
    "expand": lambda t: t[:, :1].expand(2, 5, 4),
    "expand_as": lambda t: t[:1].expand_as(torch.empty(7, 3, 4)),
    "broadcast_to": lambda t: t.broadcast_to(3, 2, 3, 4),
    "unfold": lambda t: t.unfold(2, 2, 1),
    "as_strided": lambda t: t.as_strided((3, 2), (1, 2), 5),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "diagonal": lambda t: t.diagonal(0, 1, 2),
    "squeeze": lambda t: t[:, :1].squeeze(1),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "detach": lambda t: t.detach(),
    "view_as_complex": lambda t: torch.view_as_complex(t.view(2, 3, 2, 2)),
    "alias": lambda t: torch.ops.aten.alias(t),
    "real": lambda t: t.real,
}

MANY = {
    "unbind": lambda t: t.unbind(1),
    "split": lambda t: t.split(2, dim=2),
    "split_sizes": lambda t: t.split([1, 3], dim=2),
    "chunk": lambda t: t.chunk(3, dim=1),
    "tensor_split": lambda t: t.tensor_split(3, dim=2),
    "hsplit": lambda t: t.hsplit(3),
    "vsplit": lambda t: t.vsplit(2),
}

COMPLEX = {
    "view_as_real": torch.view_as_real,
    "real": lambda t: t.real,
    "imag": lambda t: t.imag,
    "conj": lambda t: t.conj(),
    "transpose": lambda t: t.t(),
    "mH": lambda t: t.mH,
}


def source():
    return torch.arange(24.0).view(2, 3, 4).clone()


@pytest.mark.parametrize("name", VIEWS)
def test_view_has_the_same_geometry_and_bytes(name):
    make = VIEWS[name]
    base = source().to("mps")
    view = make(base)
    assert view.storage_offset() == make(source()).storage_offset()
    assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    assert view.data_ptr() == base.data_ptr() + view.storage_offset() * view.element_size()
    assert_matches(view, make(source()))


@pytest.mark.parametrize("name", VIEWS)
def test_writing_through_a_view_is_seen_by_its_base(name):
    make = VIEWS[name]
    base, expected = source().to("mps"), source()
    with torch.no_grad():
        if name.startswith(("expand", "broadcast", "unfold")):  # elements share bytes
            base[0, 0, 0] = expected[0, 0, 0] = 77
            assert_matches(make(base), make(expected))
        else:
            make(base).zero_()
            make(expected).zero_()
    assert_matches(base, expected)


@pytest.mark.parametrize("name", VIEWS)
def test_view_knows_its_base(name):
    make = VIEWS[name]
    base, expected_base = source().to("mps"), source()
    view, expected = make(base), make(expected_base)
    assert view._is_view() == expected._is_view()
    assert (view._base is base) == (expected._base is expected_base)


@pytest.mark.parametrize("name", MANY)
def test_parts_share_bytes_with_the_whole(name):
    make = MANY[name]
    base, expected = source().to("mps"), source()
    parts = make(base)
    assert all(p.untyped_storage().data_ptr() == base.data_ptr() for p in parts)
    assert all(p._base is base for p in parts)
    assert_matches(parts, make(expected))
    parts[-1].fill_(5)
    make(expected)[-1].fill_(5)
    assert_matches(base, expected)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_views_share_bytes(name):
    make = COMPLEX[name]
    expected = torch.complex(torch.arange(6.0), torch.arange(6.0, 12.0)).view(2, 3)
    base = expected.to("mps")
    view = make(base)
    assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    assert view.is_conj() == make(expected).is_conj()
    assert_matches(view, make(expected))
    view.mul_(3)
    make(expected).mul_(3)
    assert_matches(base, expected)


def test_a_conjugate_view_is_resolved():
    expected = torch.tensor([1 + 2j, 3 - 1j])
    base = expected.to("mps")
    assert_matches(base.conj().resolve_conj(), expected.conj().resolve_conj())
    assert_matches(base.conj().imag.resolve_neg(), expected.conj().imag.resolve_neg())
    assert_matches(base.conj() * base, expected.conj() * expected)


def test_a_view_of_a_view_has_the_first_base():
    base = source().to("mps")
    view = base[0].t()[1:]
    assert view._base is base
    view.fill_(-1)
    expected = source()
    expected[0].t()[1:].fill_(-1)
    assert_matches(base, expected)


def test_version_counter_is_shared_by_base_and_view():
    base = source().to("mps")
    view = base[0]
    start = base._version
    view.add_(1)
    assert base._version == start + 1
    base.mul_(2)
    assert view._version == start + 2


def test_version_counter_moves_once_per_write():
    def versions(device):
        tensor = torch.ones(3, device=device)
        seen = [tensor._version]
        tensor.add_(1)
        seen.append(tensor._version)
        torch.add(tensor, 1, out=tensor)
        seen.append(tensor._version)
        tensor[0] = 4
        seen.append(tensor._version)
        tensor.copy_(torch.zeros(3))
        seen.append(tensor._version)
        torch._foreach_add_([tensor], 1)
        seen.append(tensor._version)
        torch.atan_(tensor)
        seen.append(tensor._version)
        tensor.detach().zero_()
        seen.append(tensor._version)
        tensor.data.zero_()
        seen.append(tensor._version)
        return seen

    assert versions("mps") == versions("cpu")


def test_a_view_outlives_its_base():
    view = source().to("mps")[1, 1:]
    assert_matches(view * 2, source()[1, 1:] * 2)


def test_view_of_incompatible_strides_raises():
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        source().to("mps").transpose(0, 2).view(-1)


def test_reshape_of_incompatible_strides_copies():
    base = source().to("mps")
    flat = base.transpose(0, 2).reshape(-1)
    assert flat.data_ptr() != base.data_ptr()
    assert_matches(flat, source().transpose(0, 2).reshape(-1))


def test_contiguous_returns_itself_when_nothing_is_to_do():
    base = source().to("mps")
    assert base.contiguous() is base
    assert base.transpose(0, 1).contiguous().data_ptr() != base.data_ptr()


def test_operators_on_strided_views_give_the_cpu_values():
    for make in (
        lambda t: t.transpose(0, 2),
        lambda t: t[:, ::2],
        lambda t: t[:, :1].expand(2, 9, 4),
        lambda t: t.unfold(2, 2, 1),
    ):
        view, expected = make(source().to("mps")), make(source())
        assert_matches(view + 1, expected + 1)
        assert_matches(view.sum(1), expected.sum(1))
        assert_matches(torch.cat([view, view]), torch.cat([expected, expected]))


def test_writing_to_an_expanded_tensor_raises():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device="mps").expand(4).add_(1)


def test_view_copies_are_copies():
    base = source().to("mps")
    copied = torch.transpose_copy(base, 0, 1)
    assert copied.untyped_storage().data_ptr() != base.untyped_storage().data_ptr()
    assert_matches(copied, torch.transpose_copy(source(), 0, 1))
