# Sourced by check.sh, try.sh, release.sh and bench/run.sh: installs the Debian packages that are
# missing, and builds.

build_packages=(g++ cmake ninja-build pkg-config libelf-dev libdw-dev liblzma-dev libcapstone-dev
  libfmt-dev libsimdjson-dev zlib1g-dev python3)
crystal_packages=(crystal libgc-dev libevent-dev libpcre3-dev libssl-dev libyaml-dev libxml2-dev
  libgmp-dev)
test_packages=(doctest-dev clang libclang-rt-14-dev libc++-14-dev libc++abi-14-dev gcc-multilib dwz llvm-14 jq guile-3.0 w3m ecl
  ruby sqlite3 gdb elfutils musl-tools xz-utils
  libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0)
# Readers of exports.
consumer_packages=(golang-go nodejs valgrind libdevel-nytprof-perl chromium)
long_consumer_packages=(ruby-heapy visualvm openjdk-17-jdk-headless)
consumer_npm_packages=(playwright-core@1.56.1)
long_consumer_npm_packages=(chrome-devtools-mcp@1.11.0 @memlab/heap-analysis@2.0.5
  @duckdb/node-api@1.5.6-r.1)
lint_packages=(clang-format-14 clang-tidy-14)
package_packages=(dpkg-dev file fakeroot lintian)
bench_packages=(openjdk-17-jdk-headless)

# build DIR CMAKE_OPTION... [-- TARGET...]: many sources compiled as one, unless in_units is 0. Where two
# of them do not go together although unity.py found nothing against it, each is compiled by itself.
build() {
  local dir=$1 options=() in_units=${in_units:-1}
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do options+=("$1"); shift; done
  [[ $# -eq 0 ]] || shift
  options+=(-S . -B "$dir" -G Ninja)
  if [[ $in_units == 1 ]]; then
    cmake "${options[@]}" -DHEAPATTACH_UNITY=ON -DHEAPATTACH_PRECOMPILE=OFF
    ! ninja -C "$dir" "$@" || return 0
    echo "warning: could not compile many sources as one (integration/unity.py); each by itself:"
  fi
  cmake "${options[@]}" -DHEAPATTACH_UNITY=OFF -DHEAPATTACH_PRECOMPILE="$in_units"
  ninja -C "$dir" "$@"
}

# install_packages NAME...: only what is missing, and says so first.
install_packages() {
  local missing=() name as_root=()
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      missing+=("$name")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  echo "installing with apt: ${missing[*]}"
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || { echo "not root and no sudo: install them yourself" >&2; return 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q </dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}
