"""More than one process: spawn, fork, queues and workers."""

from __future__ import annotations

import pytest

from .snippets import Snippet, assert_as_expected

SNIPPETS = [
    Snippet(
        "mp.spawn",
        """
        import torch
        import torch.multiprocessing as mp

        def work(rank, results):
            x = torch.full((3,), float(rank), device="mps")
            results[rank] = (x + 1).sum().item()

        if __name__ == "__main__":
            results = torch.zeros(2).share_memory_()
            mp.spawn(work, args=(results,), nprocs=2)
            print(results)
        """,
        "tensor([3., 6.])\n",
    ),
    Snippet(
        "queues, after the parent used mps",
        """
        import torch
        import torch.multiprocessing as mp

        def work(inputs, outputs):
            x = inputs.get().to("mps")
            outputs.put((x * 2).tolist())

        if __name__ == "__main__":
            mp.set_start_method("spawn", force=True)
            x = torch.arange(3.0, device="mps")
            inputs, outputs = mp.Queue(), mp.Queue()
            process = mp.Process(target=work, args=(inputs, outputs))
            process.start()
            inputs.put(x.cpu())
            print(outputs.get())
            process.join()
            print(process.exitcode)
        """,
        "[0.0, 2.0, 4.0]\n0\n",
        then="mp.set_start_method(None, force=True)",
    ),
    Snippet(
        "an mps tensor given to a process",
        """
        import torch
        import torch.multiprocessing as mp

        def work(x):
            print(x)

        if __name__ == "__main__":
            process = mp.get_context("spawn").Process(
                target=work, args=(torch.ones(2, device="mps"),)
            )
            try:
                process.start()
            except RuntimeError as error:
                print(error)
            mp.set_sharing_strategy("file_system")
            try:
                mp.get_context("spawn").Process(
                    target=work, args=(torch.ones(2, device="mps"),)
                ).start()
            except RuntimeError as error:
                print(error)
        """,
        "_share_fd_: only available on CPU\n_share_filename_: only available on CPU\n",
        then='mp.set_sharing_strategy("file_descriptor")',
    ),
    Snippet(
        "a fork before the first use",
        """
        import os
        import torch
        child = os.fork()
        x = torch.ones(2, device="mps") + 1
        if child == 0:
            os._exit(int(x.sum().item()))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), x.tolist())
        """,
        "4 [2.0, 2.0]\n",
        alone=True,
    ),
    Snippet(
        "a fork of a process that asked for the device",
        """
        import os
        import torch
        print(torch.backends.mps.is_available(), torch.mps._is_in_bad_fork(), flush=True)
        child = os.fork()
        if child == 0:
            print(torch.mps._is_in_bad_fork(), flush=True)
            torch.manual_seed(0)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.mps._is_in_bad_fork())
        """,
        "True False\nTrue\n0 False\n",
        alone=True,  # what the others use leaves threads, of which Python 3.12 would warn
    ),
    Snippet(
        "workers of a loader",
        """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return torch.tensor(float(i * i))

        if __name__ == "__main__":
            warm = torch.ones(1, device="mps") + 1
            for context in ("fork", "spawn"):
                loader = DataLoader(
                    Squares(), batch_size=2, num_workers=1, multiprocessing_context=context
                )
                print(context, [batch.to("mps").sum().item() for batch in loader])
        """,
        "fork [1.0, 13.0]\nspawn [1.0, 13.0]\n",
    ),
]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_fork_and_spawn(snippet: Snippet, run) -> None:
    assert_as_expected(snippet, run(snippet))


AFTER_USE = Snippet(
    "a fork after use",
    """
    import torch
    import torch.multiprocessing as mp

    def work(queue):
        torch.manual_seed(1)
        queue.put((torch.ones(3, device="mps") * 2).sum().item())

    if __name__ == "__main__":
        x = torch.ones(3, device="mps").sum().item()
        context = mp.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        print(x, queue.get())
        process.join()
    """,
    "3.0 6.0\n",
    alone=True,
)


@pytest.mark.cpu_engine("a card's driver does not survive a fork")
def test_a_fork_after_use_goes_on_as_on_a_mac(python, tmp_path) -> None:
    (tmp_path / "program.py").write_text(AFTER_USE.source)
    done = python("program.py", OPENMPS="1")
    assert (done.stdout, done.stderr, done.returncode) == (AFTER_USE.prints, "", 0)
