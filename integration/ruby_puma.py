#!/usr/bin/env python3
"""A Puma server under load while heapattach counts its objects: ruby_puma.py HEAPATTACH [SECONDS]

Starts Puma (Debian's package `puma`) with five threads, and clients that ask it without a pause.
Then it compares, for some time each:

- without heapattach: how long the responses take,
- with one `--count` per second, and with one `--count` after another: the same.

Each count must have exactly as many objects of the program's classes as the program itself counts
with ObjectSpace.each_object(CLASS).count. Every response must be the expected one. Prints a line
for each part; exits with 1 if anything was wrong.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

APP = """
class Session
  def initialize(number)
    @user = "user-#{number}"
    @cart = Cart.new(self)
  end
end
class Cart
  def initialize(session) = @session = session
end
Pair = Struct.new(:left, :right)
SESSIONS = Array.new(20_000) { |number| Session.new(number) }
PAIRS = Array.new(3000) { |number| Pair.new("l#{number}", number.to_f) }

run(lambda do |request|
  body =
    if request["PATH_INFO"] == "/counts"
      GC.start
      [Session, Cart, Pair].map { |one| "#{one}=#{ObjectSpace.each_object(one).count}" }.join(" ")
    else
      PAIRS.sample.left + "x" * 2000
    end
  [200, { "content-type" => "text/plain" }, [body]]
end)
"""

CLIENTS = 4


def ask(connection, path):
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    if response.status != 200:
        raise RuntimeError(f"status {response.status}")
    return body


class Load:
    """Clients that ask again and again, and how long each response took, in milliseconds."""

    def __init__(self, port):
        self.times = []
        self.wrong = []
        self.goes_on = True
        self.threads = [threading.Thread(target=self.run, args=(port,)) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, port):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            while self.goes_on:
                begin = time.monotonic()
                body = ask(connection, "/")
                self.times.append(1000 * (time.monotonic() - begin))
                if not body.endswith("x" * 2000):
                    self.wrong.append("another body")
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            self.wrong.append(repr(error))

    def end(self):
        self.goes_on = False
        for thread in self.threads:
            thread.join()
        self.times.sort()


def counted(heapattach, pid, names):
    run = subprocess.run([heapattach, "--count", "-f", "json", str(pid)], capture_output=True,
                         text=True, check=False)
    if run.returncode != 0:
        return f"status {run.returncode}: {run.stderr.strip()}"
    rows = {row["type"]: row["objects"] for row in json.loads(run.stdout)["types"]}
    return " ".join(f"{name}={rows.get(name, 0)}" for name in names)


def part(title, port, seconds, heapattach, pid, expected, pause):
    """One part of the comparison. `pause` lies between two counts; None: there are none."""
    load = Load(port)
    end = time.monotonic() + seconds
    counts = wrong = 0
    while time.monotonic() < end:
        if pause is None:
            time.sleep(0.05)
            continue
        found = counted(heapattach, pid, [one.split("=")[0] for one in expected.split()])
        counts += 1
        if found != expected:
            wrong += 1
            print(f"  wrong: {found} instead of {expected}")
        time.sleep(pause)
    load.end()
    for text in load.wrong:
        print(f"  a client failed: {text}")
    times = load.times
    print(f"{title}: {len(times)} responses, median {times[len(times) // 2]:.1f} ms, "
          f"p99 {times[len(times) * 99 // 100]:.1f} ms, longest {times[-1]:.1f} ms; "
          f"{counts} counts, {wrong} wrong, {len(load.wrong)} clients failed", flush=True)
    return wrong + len(load.wrong)


def wait_for(log, word):
    for _ in range(600):
        with open(log, encoding="utf-8") as text:
            if word in text.read():
                return
        time.sleep(0.1)
    sys.exit("Puma did not start")


def main(heapattach, seconds):
    with tempfile.TemporaryDirectory() as directory:
        rackup = os.path.join(directory, "config.ru")
        log = os.path.join(directory, "log")
        with open(rackup, "w", encoding="utf-8") as text:
            text.write(APP)
        port = 20000 + os.getpid() % 20000
        with open(log, "w", encoding="utf-8") as output, subprocess.Popen(
                ["puma", "-t", "5:5", "-b", f"tcp://127.0.0.1:{port}", "-e", "production", rackup],
                stdout=output, stderr=output, cwd=directory) as puma:
            try:
                wait_for(log, "Use Ctrl-C")
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                expected = ask(connection, "/counts")
                connection.close()
                print(f"the program itself: {expected}")
                wrong = 0
                for title, pause in (("without", None), ("one count per second", 1.0),
                                     ("count after count", 0.0), ("without again", None)):
                    wrong += part(title, port, seconds, heapattach, puma.pid, expected, pause)
                if puma.poll() is not None:
                    wrong += 1
                    print("Puma has ended")
            finally:
                puma.terminate()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10))
