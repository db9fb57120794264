// Leaks by two well-known mistakes with C libraries. "connect N" makes N TLS connections between
// two ends in this process, and never frees the certificate that it asks for, an X509 of OpenSSL.
// "parse N" parses N pages and never frees libxml2's context. Both print how often they have
// leaked.
#include <libxml/parser.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline))

static long connections, pages, bad;
static SSL_CTX* server_side;
static SSL_CTX* client_side;

static void set_up_tls(void) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char*)"test", -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  server_side = SSL_CTX_new(TLS_server_method());
  client_side = SSL_CTX_new(TLS_client_method());
  SSL_CTX_use_certificate(server_side, certificate);
  SSL_CTX_use_PrivateKey(server_side, key);
  SSL_CTX_set_session_cache_mode(server_side, SSL_SESS_CACHE_OFF);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

// The mistake: the caller of SSL_get_peer_certificate() must release the reference that it returns.
SITE static void check_peer(SSL* client) {
  const X509* const peer = SSL_get_peer_certificate(client);
  if (peer == NULL) ++bad;
}

SITE static void connect_once(void) {
  SSL* const server = SSL_new(server_side);
  SSL* const client = SSL_new(client_side);
  BIO* ends[2];
  BIO_new_bio_pair(&ends[0], 0, &ends[1], 0);
  SSL_set_bio(server, ends[0], ends[0]);
  SSL_set_bio(client, ends[1], ends[1]);
  SSL_set_accept_state(server);
  SSL_set_connect_state(client);
  for (int i = 0; i < 20; ++i) {
    const int done = SSL_do_handshake(client);
    if (SSL_do_handshake(server) == 1 && done == 1) break;
  }
  check_peer(client);
  SSL_free(client);
  SSL_free(server);
  ++connections;
}

SITE static void parse_page(void) {
  static const char kPage[] = "<page><item id='1'>one</item><item id='2'>two</item></page>";
  xmlParserCtxtPtr const context = xmlNewParserCtxt();
  xmlDocPtr const page = xmlCtxtReadMemory(context, kPage, sizeof kPage - 1, NULL, NULL, 0);
  if (page == NULL) ++bad;
  xmlFreeDoc(page);
  ++pages;  // the mistake: xmlFreeParserCtxt(context) is missing
}

SITE static void wipe_stack(void) {
  volatile char used[262144];
  for (size_t i = 0; i < sizeof used; ++i) used[i] = 0;
}

int main(void) {
  set_up_tls();
  connect_once();
  parse_page();
  printf("ready\n");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    for (long i = strncmp(line, "connect ", 8) == 0 ? atol(line + 8) : 0; i > 0; --i)
      connect_once();
    for (long i = strncmp(line, "parse ", 6) == 0 ? atol(line + 6) : 0; i > 0; --i) parse_page();
    wipe_stack();
    printf("connections=%ld pages=%ld bad=%ld\n", connections, pages, bad);
    fflush(stdout);
  }
  return 0;
}
