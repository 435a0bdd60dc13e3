#!/usr/bin/env bash
# Writes the digests of the images that others make into Dockerfile and compose.yaml,
# or renews them:
#
#   deploy/pin.sh && git diff deploy
#
# It needs docker with buildx and a connection to the registries. Nothing is changed
# unless every digest could be read.
set -euo pipefail
cd "$(dirname "$0")"

digest() {
	local is
	is=$(docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}')
	if ! [[ $is =~ ^sha256:[0-9a-f]{64}$ ]]; then
		echo "pin.sh: the registry's answer for $1 is not a digest: $is" >&2
		exit 1
	fi
	echo "$is"
}

# Our own image has no name of a version, and is built here.
images=$(sed -nE 's/^(FROM| +image:) ([a-z0-9./-]+:[A-Za-z0-9._-]+)(@[a-z0-9:]+)?( .*)?$/\2/p' Dockerfile compose.yaml | sort -u)
edits=()
for image in $images; do
	pinned=$(digest "$image")
	echo "$image@$pinned"
	edits+=(-e "s#^(FROM| +image:) ${image//./\\.}(@[a-z0-9:]+)?( .*)?\$#\\1 $image@$pinned\\3#")
done
for file in Dockerfile compose.yaml; do
	sed -E "${edits[@]}" "$file" > "$file.new"
	cat "$file.new" > "$file"
	rm "$file.new"
done
