#!/usr/bin/env bash
# Prepares the files of the images: stage.sh REPOSITORY VERSION TARGET JAVA_RELEASE [JDK]
# Each image gets a directory per layer, from what changes rarely to what changes often: the JVM, the dependencies, LITE, and the
# class cache. A class cache fits one JVM and the sizes and times of its jars, so the JVM is in the image, and all times are alike.
set -euo pipefail
repository=$1 version=$2 target=$3 needed=$4 java_home=
for candidate in "${5:-}" "${JDK25:-}" "${JAVA_HOME:-}" /usr/lib/jvm/*; do
  if [ -x "$candidate/bin/jlink" ] && [ -f "$candidate/release" ] &&
      [ "$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$candidate/release")" -ge "$needed" ]; then
    java_home=$candidate
    break
  fi
done
if [ -z "$java_home" ]; then
  echo "stage.sh: found no JDK $needed or newer with jlink; set -Dlite.image.jdk" >&2
  exit 1
fi
manager=$repository/lite-manager/lite-manager-app node=$repository/lite-node/lite-node-app
sample=$repository/lite-starter/lite-samples/price-board cli=$repository/lite-manager/lite-cli
modules=java.base,java.compiler,java.desktop,java.instrument,java.logging,java.management,java.management.rmi,java.naming
modules=$modules,java.net.http,java.prefs,java.rmi,java.scripting,java.security.jgss,java.security.sasl,java.sql,java.xml
modules=$modules,jdk.crypto.ec,jdk.jfr,jdk.management,jdk.management.agent,jdk.naming.dns,jdk.net,jdk.unsupported,jdk.zipfs,jdk.jcmd

# Jib recognizes a layer by the times of its files, which are all alike here: without its cache, or it takes the layers of before.
rm -rf "$(dirname "$target")/jib-cache" "$target"
# Jib refuses a module without this directory.
mkdir -p "$(dirname "$target")/classes"
mkdir -p "$target/jvm/opt"
"$java_home/bin/jlink" --add-modules "$modules" --strip-debug --no-man-pages --no-header-files --generate-cds-archive \
  --output "$target/jvm/opt/java"
# Jib does not know symbolic links.
find "$target/jvm/opt/java" -type l -delete

# The layers of Spring Boot, with the jar and its libraries where "java -jar" finds them.
layers() { # name jar
  local to=$target/$1
  "$java_home/bin/java" -XX:TieredStopAtLevel=1 -Djarmode=tools -jar "$2" extract --layers --destination "$to/layers"
  for layer in dependencies snapshot-dependencies application; do
    mkdir -p "$to/$layer/opt/lite/app"
    if [ -d "$to/layers/$layer" ]; then
      cp -r "$to/layers/$layer/." "$to/$layer/opt/lite/app/"
    fi
  done
  rm -r "$to/layers"
  # Snapshots of this build are the application.
  if [ -d "$to/snapshot-dependencies/opt/lite/app/lib" ]; then
    mkdir -p "$to/application/opt/lite/app/lib"
    mv "$to"/snapshot-dependencies/opt/lite/app/lib/* "$to/application/opt/lite/app/lib/"
  fi
  rm -r "$to/snapshot-dependencies"
}
layers manager "$manager/target/lite-manager-app-$version-exec.jar"
layers node "$node/target/lite-node-app-$version-exec.jar"
layers sample "$sample/target/lite-sample-price-board-$version-exec.jar"

mkdir -p "$target/manager/application/opt/lite/bin" "$target/node/application/opt/lite/bin"
cp "$repository/helm/images/src/images/drain" "$target/node/application/opt/lite/bin/"
cp "$cli/target/lite" "$cli/target/lite-cli-$version-exec.jar" "$target/manager/application/opt/lite/bin/"
for name in manager:"$manager" node:"$node" sample:"$sample"; do
  mkdir -p "$target/${name%%:*}/application/opt/lite/sbom"
  cp "${name#*:}/target/bom.json" "$target/${name%%:*}/application/opt/lite/sbom/"
done
find "$target" -exec touch -h -d @1 {} +

# The caches are made at the place where the images have the files, in a copy of the tree.
for name in manager node; do
  mkdir -p "$target/train/$name/lib" "$target/$name/cache/opt/lite/app"
  for layer in dependencies application; do
    cp -r --preserve=timestamps "$target/$name/$layer/opt/lite/app/." "$target/train/$name/"
  done
done
# "lite prepare" starts a cluster of one node with this JVM. On a busy machine that may time out, so it is tried again.
prepare() {
  "$target/jvm/opt/java/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED \
    -jar "$cli/target/lite-cli-$version-exec.jar" prepare \
    --manager-jar "$target/train/manager/lite-manager-app-$version-exec.jar" \
    --node-jar "$target/train/node/lite-node-app-$version-exec.jar"
}
prepare || prepare
for name in manager node; do
  mv "$target/train/$name/"*.aot "$target/$name/cache/opt/lite/app/app.aot"
done
rm -r "$target/train"
