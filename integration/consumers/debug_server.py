#!/usr/bin/env python3
"""A server of debug files that misbehaves, for debuginfod_test.cpp.

debug_server.py silent        accepts connections and never answers
debug_server.py missing       has nothing
debug_server.py wrong FILE    answers everything with this file
debug_server.py endless       sends bytes for ever

Prints "ready PORT", and then the path of each request.
"""

import http.server
import shutil
import sys
import time

HOW = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        print(self.path, flush=True)
        if HOW == 'silent':
            time.sleep(600)
        elif HOW == 'missing':
            self.send_error(404)
        elif HOW == 'wrong':
            self.send_response(200)
            self.send_header('Connection', 'close')
            self.end_headers()
            with open(sys.argv[2], 'rb') as file:
                shutil.copyfileobj(file, self.wfile)
            self.close_connection = True
        else:
            self.send_response(200)
            self.send_header('Transfer-Encoding', 'chunked')
            self.end_headers()
            while True:
                self.wfile.write(b'10000\r\n' + b'x' * 0x10000 + b'\r\n')

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the client has gone


server = Server(('127.0.0.1', 0), Handler)
print('ready', server.server_address[1], flush=True)
server.serve_forever()
