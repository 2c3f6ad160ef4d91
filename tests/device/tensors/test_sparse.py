from __future__ import annotations

import copy

import pytest
import torch

from ..agreement import assert_matches, on_cuda

INDICES = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
VALUES = torch.tensor([1.0, 2.0, 3.0, 4.0])


def coo(device, values=VALUES):
    return torch.sparse_coo_tensor(INDICES.to(device), values.to(device), (2, 3))


def dense(device):
    return torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], device=device)


@pytest.fixture(autouse=True)
def checked_invariants():
    with torch.sparse.check_sparse_tensor_invariants(True):
        yield


def assert_sparse_matches(actual, expected):
    assert actual.device.type == "mps"
    assert actual.layout == expected.layout
    assert actual.shape == expected.shape
    assert actual.is_coalesced() == expected.is_coalesced()
    if on_cuda():
        # Its kernels order the entries of an uncoalesced tensor, and lay out the indices, in ways
        # of their own.
        assert_matches(in_order(actual), in_order(expected), strides=False)
        return
    assert_matches((actual._indices(), actual._values()), (expected._indices(), expected._values()))


def in_order(sparse):
    """The entries by row and column; indices and values, row by row."""
    sparse = sparse.coalesce()
    return sparse._indices().contiguous(), sparse._values().contiguous()


def test_coo_is_made_on_mps():
    assert_sparse_matches(coo("mps"), coo("cpu"))
    assert coo("mps").is_sparse


def test_coo_shares_the_given_values():
    values = VALUES.to("mps")
    sparse = torch.sparse_coo_tensor(INDICES.to("mps"), values, (2, 3))
    assert sparse._values().data_ptr() == values.data_ptr()


def test_coo_from_lists_and_a_device():
    made = torch.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], (2, 3), device="mps")
    assert_sparse_matches(made, torch.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], (2, 3)))
    inferred = torch.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], device="mps")
    assert inferred.shape == (2, 3)
    assert inferred.device.type == "mps"


def test_empty_coo():
    made = torch.sparse_coo_tensor(size=(2, 3), device="mps")
    assert_sparse_matches(made, torch.sparse_coo_tensor(size=(2, 3)))
    assert_sparse_matches(torch.zeros_like(coo("mps")), torch.zeros_like(coo("cpu")))
    assert_sparse_matches(
        torch.zeros(2, 3, layout=torch.sparse_coo, device="mps"),
        torch.zeros(2, 3, layout=torch.sparse_coo),
    )


def test_coalesce_sums_duplicates():
    assert_sparse_matches(coo("mps").coalesce(), coo("cpu").coalesce())
    coalesced = coo("mps").coalesce()
    assert coalesced.is_coalesced()
    assert_matches(
        (coalesced.indices(), coalesced.values()),
        (coo("cpu").coalesce().indices(), coo("cpu").coalesce().values()),
        strides=not on_cuda(),  # CUDA's kernel makes the indices column by column
    )


def test_indices_of_an_uncoalesced_tensor_raise():
    with pytest.raises(RuntimeError, match="uncoalesced"):
        coo("mps").indices()


def test_to_dense_and_back():
    assert_matches(coo("mps").to_dense(), coo("cpu").to_dense())
    assert_sparse_matches(dense("mps").to_sparse(), dense("cpu").to_sparse())


def test_hybrid_coo():
    values = torch.arange(8.0).view(4, 2)
    made = torch.sparse_coo_tensor(INDICES.to("mps"), values.to("mps"), (2, 3, 2))
    expected = torch.sparse_coo_tensor(INDICES, values, (2, 3, 2))
    assert made.sparse_dim() == 2
    assert made.dense_dim() == 1
    assert_sparse_matches(made.coalesce(), expected.coalesce())
    assert_matches(made.to_dense(), expected.to_dense())


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize(
    "function",
    [
        lambda s: s * 3,
        lambda s: s / 2,
        lambda s: s * s,
        lambda s: -s,
        lambda s: s.coalesce().sqrt(),
        lambda s: s.t(),
        lambda s: s.transpose(0, 1).coalesce(),
        lambda s: s.clone(),
        lambda s: s.half().float(),
        lambda s: torch.sparse.sum(s, 0),
        lambda s: torch.sparse.softmax(s, 1),
        lambda s: s.index_select(1, torch.tensor([2, 0], device=s.device)),
        lambda s: torch.cat([s, s]),
        lambda s: s.unsqueeze(0),
        lambda s: torch.sparse.mm(s, s.t()).coalesce(),
        lambda s: s.detach(),
        lambda s: s.narrow_copy(1, 1, 2),
        lambda s: s.coalesce().abs(),
    ],
)
def test_coo_operators_agree(function):
    assert_sparse_matches(function(coo("mps")), function(coo("cpu")))


@pytest.mark.parametrize(
    "function",
    [
        lambda s, d: s.matmul(d.t()),
        lambda s, d: torch.sparse.mm(s, d.t()),
        lambda s, d: s.mv(d[0]),
        lambda s, d: d + s,
        lambda s, d: torch.sparse.addmm(torch.ones(2, 2, device=d.device), s, d.t()),
        lambda s, d: torch.sparse.sum(s),
        lambda s, d: s.sum(),
        lambda s, d: torch.bmm(s.unsqueeze(0), d.t()[None].contiguous()),
        lambda s, d: s.to_dense() @ d.t(),
    ],
)
def test_coo_with_dense_agrees(function):
    assert_matches(
        function(coo("mps"), dense("mps")),
        function(coo("cpu"), dense("cpu")),
        strides=not on_cuda(),  # cuSPARSE makes batched products column by column
    )


def test_sparse_mask_takes_the_pattern():
    got = dense("mps").sparse_mask(coo("mps").coalesce())
    assert_sparse_matches(got, dense("cpu").sparse_mask(coo("cpu").coalesce()))


def test_sparse_and_dense_of_different_devices_raise():
    with pytest.raises(RuntimeError):
        torch.sparse.mm(coo("mps"), dense("cpu").t())
    with pytest.raises(RuntimeError):
        torch.sparse.mm(coo("cpu"), dense("mps").t())
    with pytest.raises(RuntimeError):
        coo("mps") + coo("cpu")


def test_in_place_on_coo_writes_the_same_tensor():
    sparse, expected = coo("mps"), coo("cpu")
    assert sparse.mul_(3) is sparse
    expected.mul_(3)
    assert_sparse_matches(sparse, expected)
    sparse.add_(coo("mps"))
    expected.add_(coo("cpu"))
    assert_sparse_matches(sparse.coalesce(), expected.coalesce())
    sparse.zero_()
    expected.zero_()
    assert_sparse_matches(sparse, expected)
    sparse.copy_(coo("mps"))
    assert_matches(sparse.to_dense(), coo("cpu").to_dense())


def test_adding_sparse_into_dense_in_place():
    tensor, expected = dense("mps"), dense("cpu")
    assert tensor.add_(coo("mps")) is tensor
    expected.add_(coo("cpu"))
    assert_matches(tensor, expected)


def test_sparse_resize():
    sparse, expected = coo("mps").coalesce(), coo("cpu").coalesce()
    sparse.sparse_resize_((4, 5), 2, 0)
    expected.sparse_resize_((4, 5), 2, 0)
    assert_sparse_matches(sparse, expected)


def test_moving_coo_between_devices():
    assert_sparse_matches(coo("cpu").to("mps"), coo("cpu"))
    back = coo("mps").to("cpu")
    assert back.device.type == "cpu"
    torch.testing.assert_close(back.to_dense(), coo("cpu").to_dense(), rtol=0, atol=0)
    assert coo("mps").cpu().device.type == "cpu"
    half = coo("cpu").to("mps", torch.float16)
    assert half.dtype == torch.float16
    assert_matches(half.to_dense(), coo("cpu").half().to_dense())


def test_deepcopy_and_printing_coo():
    copied = copy.deepcopy(coo("mps"))
    assert_sparse_matches(copied, coo("cpu"))
    assert "device='mps:0'" in repr(coo("mps"))


def test_gradients_through_sparse_mm():
    def gradients(device):
        sparse = coo(device).coalesce().detach().requires_grad_()
        right = dense(device).t().contiguous().requires_grad_()
        torch.sparse.mm(sparse, right).square().sum().backward()
        return sparse.grad.coalesce(), right.grad

    got_sparse, got_dense = gradients("mps")
    want_sparse, want_dense = gradients("cpu")
    assert_sparse_matches(got_sparse, want_sparse)
    assert_matches(got_dense, want_dense)


def test_gradients_reach_the_values_of_a_sparse_tensor():
    def gradient(device):
        values = VALUES.to(device).requires_grad_()
        sparse = torch.sparse_coo_tensor(INDICES.to(device), values, (2, 3))
        sparse.to_dense().square().sum().backward()
        return values.grad

    assert_matches(gradient("mps"), gradient("cpu"))


def test_sparse_embedding_gradients():
    def gradient(device):
        table = torch.nn.Embedding(5, 3, sparse=True)
        torch.nn.init.ones_(table.weight)
        table.to(device)
        table(torch.tensor([1, 1, 4], device=device)).square().sum().backward()
        return table.weight.grad

    got = gradient("mps")
    assert got.is_sparse
    assert_sparse_matches(got.coalesce(), gradient("cpu").coalesce())


def test_accumulating_sparse_gradients():
    def gradient(device):
        weight = torch.ones(5, 3, device=device, requires_grad=True)
        for rows in ([0, 1], [1, 4]):
            index = torch.tensor(rows, device=device)
            torch.nn.functional.embedding(index, weight, sparse=True).sum().backward()
        return weight.grad.coalesce()

    assert_sparse_matches(gradient("mps"), gradient("cpu"))


@pytest.mark.parametrize("name", ["trunc", "asin", "abs", "neg", "sqrt", "isneginf", "nan_to_num"])
def test_a_result_is_written_through_the_parts_of_out(name):
    def run(device):
        made = torch.zeros(1, 1, device=device).to_sparse()
        if name == "isneginf":
            made = made.bool()
        returned = getattr(torch, name)(coo(device, VALUES.detach().clone()), out=made)
        assert returned is made
        return made

    assert_sparse_matches(run("mps"), run("cpu"))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.floor_divide_(2),
        lambda t: t.div_(3, rounding_mode="trunc"),
        lambda t: t.mul_(t.clone()),
        lambda t: t.zero_(),
        lambda t: t.copy_(t.coalesce()),
    ],
)
def test_what_changes_the_number_of_entries_in_place(change):
    for made in (coo, lambda device: coo(device).coalesce()):
        assert_sparse_matches(change(made("mps").clone()), change(made("cpu").clone()))


@pytest.mark.parametrize(
    "add",
    [
        lambda s: s + s,
        lambda s: s - s * 2,
        lambda s: s.clone().add_(s.coalesce(), alpha=3),
        lambda s: s.clone().sub_(s.coalesce()),
        lambda s: torch.add(s.detach(), s.detach(), out=s.detach().clone()),
    ],
)
def test_a_sum_is_coalesced_as_on_a_mac(add):
    assert_sparse_matches(add(coo("mps")), add(coo("cpu")).coalesce())


def test_a_sum_with_nothing_stays_as_it_is():
    nothing = torch.zeros(2, 3, device="mps").to_sparse()
    assert not (coo("mps") + nothing).is_coalesced()
    assert not (nothing + coo("mps")).is_coalesced()


def test_a_dense_factor_is_not_broadcast():
    assert_sparse_matches(coo("mps") * dense("mps"), coo("cpu") * dense("cpu"))
    assert_sparse_matches(coo("mps") * torch.tensor([2.0]).to("mps"), coo("cpu") * 2)
    for product in (
        lambda: coo("mps") * torch.ones(3, device="mps"),
        lambda: torch.ones(4, 2, 3, device="mps") * coo("mps"),
        lambda: coo("mps").mul_(torch.ones(2, 1, device="mps")),
    ):
        with pytest.raises(RuntimeError, match=r"^mul\(dense, sparse\): sizes must match exactly"):
            product()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.uint8])
def test_products_of_two_sparse_matrices_have_all_dtypes(dtype):
    left, right = coo("mps").to(dtype), coo("mps").to(dtype).t()
    product = torch.sparse.mm(left, right)
    assert product.dtype == dtype
    wanted = torch.sparse.mm(coo("cpu"), coo("cpu").t()).to_dense()
    assert torch.equal(product.to_dense().cpu(), wanted.to(dtype))


# PyTorch's compressed tensors know CPU, CUDA and XPU only: a Mac refuses them, too.
@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR|BSC) tensor support is in beta")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), device="mps"),
        lambda: dense("mps").to_sparse_csr(),
        lambda: dense("mps").to_sparse_csc(),
        lambda: dense("mps").to_sparse_bsr((1, 1)),
        lambda: dense("cpu").to_sparse_csr().to("mps"),
        lambda: coo("mps").to_sparse_csr(),
    ],
)
def test_compressed_layouts_are_refused(make):
    with pytest.raises(RuntimeError) as error:  # NotImplementedError is one, too
        make()
    assert "Keep such a tensor on the CPU" not in str(error.value)
    assert "INTERNAL ASSERT" not in str(error.value)
    assert_matches(dense("mps") + 1, dense("cpu") + 1)


def test_sparse_memory_is_given_back():
    before = torch.mps.current_allocated_memory()
    sparse = coo("mps")
    (sparse + sparse).coalesce()
    del sparse
    assert torch.mps.current_allocated_memory() == before
