"""Two pieces of work for a processor, nothing else: one after the other, on two threads, or in two
processes. `gil.py serial|threads|processes`."""

import multiprocessing
import sys
import threading

TURNS = 24_000_000


def work():
    left = TURNS
    while left:
        left -= 1


def serial():
    work()
    work()


def side_by_side(kind):
    both = [kind(target=work) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()


if __name__ == "__main__":
    match sys.argv[1]:
        case "serial":
            serial()
        case "threads":
            side_by_side(threading.Thread)
        case "processes":
            side_by_side(multiprocessing.get_context("fork").Process)
    print("done")
