"""The GIL is free while the library works, plans are shared between threads, forked children compute."""

import multiprocessing
import os
import threading
import time

import numpy as np
from evaluator import normal

import skipattn as sa

MASK = sa.mask.key_lengths([300, 100]) & sa.mask.causal()
Q = normal(1, 2, 4, 300, 32)


def test_other_threads_go_on_during_a_run_and_a_plan():
    # The definition on plain loops takes a while: if it held the GIL, nothing would be counted.
    q = normal(2, 1, 1, 1500, 64)
    shape = (64, 16, 4096, 64)
    dense = np.ones((64, 16, 1, 4096), bool)
    for busy in (
        lambda: sa.reference(q, q, q, threads=1),
        lambda: sa.plan(shape, shape, shape, mask=dense),
    ):
        counted, done = 0, threading.Event()
        thread = threading.Thread(target=lambda busy=busy, done=done: (busy(), done.set()))
        thread.start()
        while not done.wait(0):
            counted += 1
            time.sleep(0)
        thread.join()
        assert counted > 50


def test_threads_share_a_plan():
    plan = sa.plan(Q.shape, Q.shape, Q.shape, mask=MASK)
    want = plan.run(Q, Q, Q).tobytes()
    wrong = []

    def run():
        for _ in range(30):
            if plan.run(Q, Q, Q).tobytes() != want or sa.attention(Q, Q, Q, MASK).tobytes() != want:
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_plan_with_functions_at_once():
    x, wrong = Q[:, :1, :60], []
    want = sa.attention(x, x, x, sa.mask.causal() & sa.mask.key_lengths([50, 50])).tobytes()

    def run():
        for _ in range(5):
            if sa.attention(x, x, x, sa.mask.function(lambda b, h, i, j: j <= i and j < 50)).tobytes() != want:
                wrong.append(1)
            try:
                sa.attention(x, x, x, sa.mask.function(lambda b, h, i, j: 1 // j))
                wrong.append(2)
            except ZeroDivisionError:
                pass

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def child(plan, want):
    same = plan.run(Q, Q, Q).tobytes() == want == sa.attention(Q, Q, Q, MASK).tobytes()
    os._exit(0 if same else 1)


def test_a_forked_child_computes():
    plan = sa.plan(Q.shape, Q.shape, Q.shape, mask=MASK)
    want = plan.run(Q, Q, Q, threads=2).tobytes()  # OpenMP's threads have been started
    process = multiprocessing.get_context("fork").Process(target=child, args=(plan, want))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
    assert process.exitcode == 0
    pid = os.fork()
    if pid == 0:
        child(plan, want)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert plan.run(Q, Q, Q).tobytes() == want
