"""Serves greeter.proto by grpc-python: greeter.py PORT. Behind it, `bare` is for no reflection, and
`gzip` for answers that are compressed where the client takes that."""

import concurrent.futures
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import grpc
from grpc_reflection.v1alpha import reflection

protos, services = grpc.protos_and_services("greeter.proto")


class Greeter(services.GreeterServicer):
    def Greet(self, greeting, context):
        return reply(f"hello {greeting.name}")

    def GreetAll(self, greetings, context):
        return reply("hello " + ", ".join(greeting.name for greeting in greetings))

    def Repeat(self, greeting, context):
        for number in range(greeting.times):
            yield reply(f"hello {greeting.name} {number}")

    def Talk(self, greetings, context):
        for greeting in greetings:
            yield reply(f"hello {greeting.name}")

    def Fail(self, greeting, context):
        code = next(code for code in grpc.StatusCode if code.value[0] == greeting.status)
        context.abort(code, f"no, {greeting.name}: 100 % über")

    def Reveal(self, greeting, context):
        if greeting.name == "deadline":
            return reply(f"{context.time_remaining():.1f}")
        values = [value for key, value in context.invocation_metadata() if key == greeting.name]
        return reply(repr(values))

    def Stall(self, greeting, context):
        passed = concurrent.futures.Future()
        context.add_callback(lambda: passed.set_result(None))
        passed.result(timeout=60)
        return reply("too late")


def reply(text):
    return protos.Reply(text=text)


def main():
    compression = grpc.Compression.Gzip if "gzip" in sys.argv else None
    executor = concurrent.futures.ThreadPoolExecutor(max_workers=8)
    server = grpc.server(executor, compression=compression)
    services.add_GreeterServicer_to_server(Greeter(), server)
    if "bare" not in sys.argv:
        names = (protos.DESCRIPTOR.services_by_name["Greeter"].full_name, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, server)
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()


main()
