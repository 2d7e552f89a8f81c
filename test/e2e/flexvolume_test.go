package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// binds is a flexvolume driver that mounts a directory of the node, which an option names.
const binds = `#!/bin/sh
fail() { echo "{\"status\":\"Failure\",\"message\":\"$1\"}"; exit 1; }
case "$1" in
init) echo '{"status":"Success","capabilities":{"attach":false}}' ;;
mount) mount --bind "$(printf '%s' "$3" | sed 's/.*"source":"\([^"]*\)".*/\1/')" "$2" && echo '{"status":"Success"}' || fail "cannot mount" ;;
unmount) umount "$2" && echo '{"status":"Success"}' || fail "cannot unmount" ;;
*) echo '{"status":"Not supported"}'; exit 1 ;;
esac
`

// TestFlexvolume has a pod wait for a flexvolume driver, which is installed then, and use its volume, over a kill of the agent. When the pod ends,
// the driver unmounts.
func TestFlexvolume(t *testing.T) {
	n := newNode(t)
	drivers := t.TempDir()
	a := n.start("--volume-plugin-dir", drivers)
	n.put("flex.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: flex}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: $BUSYBOX, command: $WAIT, volumeMounts: [{name: data, mountPath: /data}]}
  volumes:
  - {name: data, flexVolume: {driver: example.com/bind, options: {source: $DIR}}}
`)
	a.event("flex", "FailedMount")
	dir := filepath.Join(drivers, "example.com~bind")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bind"), []byte(binds), 0o755); err != nil {
		t.Fatal(err)
	}
	a.ready("flex")
	if got := n.exec("flex", "main", "sh", "-c", "echo kept > /data/file && cat /data/file"); got != "kept" {
		t.Errorf("the volume has %q", got)
	}
	a.kill()
	a = n.start("--volume-plugin-dir", drivers)
	a.ready("flex")
	a.mark()
	n.drop("flex.yaml")
	a.gone("flex")
	if got := n.read("file"); got != "kept" {
		t.Errorf("after the pod's end, the directory has %q", got)
	}
}
