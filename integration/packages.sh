# Sourced by check.sh, try.sh, release.sh, distributions.sh and bench/run.sh: installs the Debian packages
# that are missing, and builds.

# "old|new" is one package, under the names that it has in Debian 12 and in later releases.
build_packages=(g++ cmake ninja-build pkg-config libelf-dev libdw-dev liblzma-dev libcapstone-dev
  libfmt-dev libsimdjson-dev libmicrohttpd-dev zlib1g-dev python3)
crystal_packages=(crystal libgc-dev libssl-dev libyaml-dev libxml2-dev libgmp-dev)
test_packages=(doctest-dev clang libclang-rt-dev libc++-dev libc++abi-dev gcc-multilib dwz llvm jq guile-3.0 w3m ecl
  ruby sqlite3 gdb elfutils debuginfod musl-tools xz-utils nim nix-bin mono-mcs 'mono-runtime-boehm|mono-runtime-sgen'
  libjemalloc2 'libtcmalloc-minimal4|libtcmalloc-minimal4t64' 'libmimalloc2.0|libmimalloc3')
# Readers of exports.
consumer_packages=(golang-go nodejs valgrind libdevel-nytprof-perl chromium prometheus zsh fish python3-jsonschema
  python3-protobuf)
long_consumer_packages=(ruby-heapy visualvm default-jdk-headless)
consumer_npm_packages=(playwright-core@1.56.1)
long_consumer_npm_packages=(chrome-devtools-mcp@1.11.0 @memlab/heap-analysis@2.0.5
  @duckdb/node-api@1.5.6-r.1 chdb@3.4.0)
# Only of this version, because others format and warn differently.
lint_packages=(clang-format-14 clang-tidy-14)
package_packages=(dpkg-dev file fakeroot lintian)
bench_packages=(default-jdk-headless)

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

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

in_archive() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[0-9]* ]]; }

# first_name TEST OLD|NEW: the first of the names that passes the test.
first_name() {
  local name
  for name in ${2//|/ }; do
    if "$1" "$name"; then echo "$name"; return 0; fi
  done
  return 1
}

# once_unlocked COMMAND...: runs apt-get, for up to ten minutes again and again while another package
# manager has one of its locks, such as the one that updates a machine that has just been started.
once_unlocked() {
  local errors status until=$((SECONDS + 600))
  errors=$(mktemp)
  while true; do
    status=0
    "$@" </dev/null 2>"$errors" || status=$?
    if [[ $status -eq 0 || $SECONDS -ge $until ]] || ! grep -q 'Could not get lock' "$errors"; then break; fi
    echo "waiting for another package manager: $(grep -m 1 'Could not get lock' "$errors")"
    sleep 5
  done
  cat "$errors" >&2
  rm "$errors"
  return "$status"
}

# debian_sources SUITE: the machine's own sources of Debian, with SUITE instead of the machine's.
debian_sources() {
  local origin uri suite component
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' \
    'Created-By: Packages' | while read -r origin uri suite component; do
    [[ $origin == Debian && $component == main && $suite =~ ^[a-z]+(-security|-updates)?$ ]] || continue
    echo "deb $uri $1${BASH_REMATCH[1]} main"
  done | sort -u
}

# make_debian_root SUITE DIR MMDEBSTRAP_OPTION...: DIR/root, with apt's own sources and proxies.
make_debian_root() {
  local suite=$1 dir=$2
  shift 2
  rm -rf --one-file-system "$dir/root"
  mkdir -p "$dir"
  debian_sources "$suite" >"$dir/sources"
  [[ -s $dir/sources ]] || { once_unlocked env LC_ALL=C apt-get update -q; debian_sources "$suite" >"$dir/sources"; }
  [[ -s $dir/sources ]] || { echo "apt has no source of Debian here" >&2; return 1; }
  apt-config dump | { grep -E '^Acquire::(Check-|Retries|https?)' || true; } >"$dir/apt.conf"
  mmdebstrap --mode=root --aptopt="$dir/apt.conf" "$@" "$suite" "$dir/root" - <"$dir/sources"
}

# install_packages NAME...: only what is missing, and says so first.
install_packages() {
  local missing=() chosen=() names as_root=()
  for names in "$@"; do
    first_name is_installed "$names" >/dev/null || missing+=("$names")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "not root and no sudo: install them yourself: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  once_unlocked "${as_root[@]}" env LC_ALL=C apt-get update -q
  for names in "${missing[@]}"; do
    chosen+=("$(first_name in_archive "$names" || echo "${names%%|*}")")
  done
  echo "installing with apt: ${chosen[*]}"
  once_unlocked "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${chosen[@]}"
}
