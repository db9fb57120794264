# A client that looks at the certificate of its peer on each connection, then closes it: Crystal 1.6's
# OpenSSL::SSL::Socket#peer_certificate takes a reference that nobody gives back, so that libcrypto's
# X509 stays when the connection has ended. Without the defect (-Dmended), it gives it back.
#
# Usage: peer_certificates CERTIFICATE KEY CONNECTIONS. Prints "ready connections=N crystal=R", where R is
# 106 for release 1.6, and waits for the end of its standard input.

require "openssl"
require "socket"

{% if flag?(:mended) %}
  abstract class OpenSSL::SSL::Socket
    def peer_certificate : OpenSSL::X509::Certificate?
      held = LibSSL.ssl_get_peer_certificate(@ssl)
      return nil if held.null?
      copied = OpenSSL::X509::Certificate.new(held)
      LibCrypto.x509_free(held)
      copied
    end
  end
{% end %}

def connect(server : OpenSSL::SSL::Context::Server, client : OpenSSL::SSL::Context::Client)
  here, there = UNIXSocket.pair
  answered = Channel(Nil).new
  spawn do
    begin
      OpenSSL::SSL::Socket::Server.open(there, server, sync_close: true) { |socket| socket.gets }
    rescue IO::Error
      # The client was faster to close the connection.
    end
    answered.send(nil)
  end
  OpenSSL::SSL::Socket::Client.open(here, client, sync_close: true) do |socket|
    raise "no certificate" if socket.peer_certificate.subject.to_a.empty?
    socket.puts "done"
  end
  answered.receive
end

server = OpenSSL::SSL::Context::Server.new
server.certificate_chain = ARGV[0]
server.private_key = ARGV[1]
client = OpenSSL::SSL::Context::Client.insecure
connections = ARGV[2].to_i
connections.times { connect(server, client) }
# Finalizers run after the collection that finds their objects.
4.times do
  GC.collect
  Fiber.yield
end
release = Crystal::VERSION.split('.')
puts "ready connections=#{connections} crystal=#{release[0].to_i * 100 + release[1].to_i}"
STDOUT.flush
STDIN.gets
