#!/bin/sh
# build.sh JAVA_HOME OUTPUT: compiles libdisni for this machine into OUTPUT/native/linux-ARCH, where ARCH is Java's name of its
# architecture. If the compiler or headers are missing, prints which, removes an old library, and succeeds.
set -eu
sources=$(cd "$(dirname "$0")" && pwd)
java_home=$1
case $(uname -m) in
  x86_64) architecture=amd64 ;;
  *) architecture=$(uname -m) ;;
esac
library=$2/native/linux-$architecture/libdisni.so
compiler=${CC:-gcc}

# Maven may run on a Java without JNI headers; the headers of any other version work, because JNI does not change.
jni=
for home in "$java_home" "${JAVA_HOME:-}" /usr/lib/jvm/*; do
  if [ -z "$jni" ] && [ -f "$home/include/jni.h" ]; then jni=$home/include; fi
done

missing=
command -v "$compiler" >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
[ -f /usr/include/infiniband/verbs.h ] || missing="$missing libibverbs-dev"
[ -f /usr/include/rdma/rdma_cma.h ] || missing="$missing librdmacm-dev"
[ -n "$jni" ] || missing="$missing openjdk-25-jdk-headless"
if [ -n "$missing" ]; then
  rm -f "$library"
  echo "lite-fabric-rdma is built without its native library, so RDMA will not be available. To build it: apt-get install$missing"
  exit 0
fi

if [ -f "$library" ] && [ -z "$(find "$sources" -newer "$library" -type f)" ]; then exit 0; fi
mkdir -p "$(dirname "$library")"
"$compiler" -std=gnu11 -O2 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes \
  -fstack-protector-strong -I"$jni" -I"$jni/linux" "$sources"/*.c \
  -shared -Wl,--no-undefined -Wl,-z,relro,-z,now -Wl,--strip-debug -libverbs -lrdmacm -o "$library.new"
mv "$library.new" "$library"
