package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fibTrie = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     |-- 10.88.0.0
        /24 link UNICAST
     |-- 10.88.0.5
        /32 host LOCAL
     |-- 10.88.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
Local:
     |-- 10.88.0.5
        /32 host LOCAL
`

// proc is a /proc with the pod's processes 41 and 42, of which 41 has a namespace.
func proc(t *testing.T, ns string) string {
	t.Helper()
	root := t.TempDir()
	tree(t, root, "41/comm=pause\n", "42/comm=sleep\n", "self/ns/", "41/ns/", "41/net/fib_trie="+fibTrie,
		"41/net/dev=Inter-|   Receive\n face |bytes\n    lo:  10 1\n  eth0: 7 0 0\n",
		"41/net/if_inet6=fe80000000000000a8bbccfffedd0011 02 40 20 80     eth0\nbroken\n",
		"41/net/route=Iface Destination Gateway Flags RefCnt Use Metric Mask\neth0 00000000 0100580A 0003 0 0 0 00000000 0 0 0\neth0 0000580A 00000000 0001 0 0 0 00FFFFFF 0 0 0\nx y\n")
	for dir, ns := range map[string]string{"self": "net:[1]", "41": ns} {
		if err := os.Symlink(ns, filepath.Join(root, dir, "ns", "net")); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestProcessesAndNetwork(t *testing.T) {
	mount := t.TempDir()
	pod := "kubepods/pod" + uid
	tree(t, mount, pod+"/cgroup.procs=", pod+"/sandbox/cgroup.procs=41\n", pod+"/main/cgroup.procs=42\n43\nx\n")
	cfg := Config{RootDir: mount, LogsDir: mount, CgroupMount: mount}
	groups := []string{"cgroup /" + pod, "cgroup /" + pod + "/main", "cgroup /" + pod + "/sandbox", "process 41 pause in sandbox", "process 42 sleep in main"}

	cfg.ProcMount = proc(t, "net:[2]")
	want := append(slices.Clip(groups), "netns id net:[2]", "interface eth0", "interface lo", "address 10.88.0.5", "address 127.0.0.1",
		"address fe80::a8bb:ccff:fedd:11/64 eth0", "route default via 10.88.0.1 eth0", "route 10.88.0.0/24 eth0")
	if diff := cmp.Diff(want, take(t, cfg, web, mount)); diff != "" {
		t.Error(diff)
	}
	cfg.ProcMount = proc(t, "net:[1]")
	if diff := cmp.Diff(append(slices.Clip(groups), "netns of the node"), take(t, cfg, web, mount)); diff != "" {
		t.Error(diff)
	}
	cfg.ProcMount = t.TempDir() // all have ended
	if diff := cmp.Diff(groups[:3], take(t, cfg, web, mount)); diff != "" {
		t.Error(diff)
	}
}

func TestProcessesAreBounded(t *testing.T) {
	mount, procs := t.TempDir(), ""
	root := t.TempDir()
	for i := range maxEntries + 1 {
		procs += fmt.Sprintf("%d\n", i+1)
		tree(t, root, fmt.Sprintf("%d/comm=x", i+1))
	}
	tree(t, mount, "kubepods/pod"+uid+"/cgroup.procs="+procs)
	got := take(t, Config{RootDir: mount, LogsDir: mount, CgroupMount: mount, ProcMount: root}, web, mount)
	if len(got) != maxEntries+2 || got[len(got)-1] != "processes: more than the 64 that are shown" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}
