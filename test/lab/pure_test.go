package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func TestPickSlot(t *testing.T) {
	prefix := netip.MustParsePrefix
	all := func(int) bool { return true }
	for _, tc := range []struct {
		name  string
		taken []netip.Prefix
		free  func(int) bool
		want  int
	}{
		{"first", []netip.Prefix{prefix("192.0.2.0/24"), prefix("127.0.0.0/8"), prefix("fd00::/64")}, all, 0},
		{"beside another lab", []netip.Prefix{prefix("10.88.0.0/16")}, all, 1},
		{"small network within", []netip.Prefix{prefix("10.88.7.0/24"), prefix("10.89.0.1/32")}, all, 2},
		{"large network around", []netip.Prefix{prefix("10.88.0.0/14")}, all, 4},
		{"registry port taken", nil, func(p int) bool { return p != firstRegistryPort }, 1},
		{"trace port taken", nil, func(p int) bool { return p != firstOTLPPort }, 1},
	} {
		if got, err := pickSlot(tc.taken, tc.free); err != nil || got != tc.want {
			t.Errorf("%s: slot %d, %v, want %d", tc.name, got, err, tc.want)
		}
	}
	if _, err := pickSlot([]netip.Prefix{prefix("10.0.0.0/8")}, all); err == nil {
		t.Error("a slot within a taken network")
	}
	if got := slotSubnet(slots - 1); !got.IsValid() || got.String() != "10.247.0.0/16" {
		t.Errorf("last subnet %v", got)
	}
}

func TestParseRoutes(t *testing.T) {
	const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
klbr0	0000580A	00000000	0001	0	0	0	0000FFFF	0	0	0
`
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("10.88.0.0/16")}
	if diff := cmp.Diff(want, parseRoutes(routes), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("42 (a) b (c) S 7 42 42 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stat{state: 'S', ppid: 7, threads: 1, start: 98765}, got, cmp.AllowUnexported(stat{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "42", "42 (x)", "42 (x) S 1 2"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a status", bad)
		}
	}
}

// Rules as iptables-save prints them, of a lab "ours" and another one.
const savedRules = `*nat
:PREROUTING ACCEPT [0:0]
:CNI-DN-aaaa - [0:0]
:CNI-DN-bbbb - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-DN-aaaa -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.88.0.2:8080
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"kubeloupe-ours\" id: \"c1\"" -m multiport --dports 80 -j CNI-DN-aaaa
OTHER-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
COMMIT
`

func TestPortmapCleanup(t *testing.T) {
	other := `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"kubeloupe-ours2\" id: \"c2\"" -m multiport --dports 81 -j CNI-DN-bbbb` + "\n"
	own := []string{
		`-D|CNI-HOSTPORT-DNAT|-p|tcp|-m|comment|--comment|dnat name: "kubeloupe-ours" id: "c1"|-m|multiport|--dports|80|-j|CNI-DN-aaaa`,
		"-F|CNI-DN-aaaa",
		"-X|CNI-DN-aaaa",
	}
	chains := []string{
		"-D|PREROUTING|-m|addrtype|--dst-type|LOCAL|-j|CNI-HOSTPORT-DNAT",
		"-D|POSTROUTING|-m|comment|--comment|CNI portfwd requiring masquerade|-j|CNI-HOSTPORT-MASQ",
		"-F|CNI-HOSTPORT-DNAT", "-F|CNI-HOSTPORT-MASQ", "-F|CNI-HOSTPORT-SETMARK",
		"-X|CNI-HOSTPORT-DNAT", "-X|CNI-HOSTPORT-MASQ", "-X|CNI-HOSTPORT-SETMARK",
	}
	for _, tc := range []struct {
		name, other string
		shared      bool
		want        []string
	}{
		{"last lab", "", true, append(own[:3:3], chains...)},
		{"not the last", "", false, own},
		{"somebody else's pod", other, true, own},
	} {
		var got []string
		for _, args := range portmapCleanup(strings.Replace(savedRules, "OTHER", tc.other, 1), "kubeloupe-ours", tc.shared) {
			got = append(got, strings.Join(args, "|"))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Whose rules are there: labs' names are numbers, other networks are not ours.
func TestPortmapLabs(t *testing.T) {
	rule := `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"%s\" id: \"c2\"" -m multiport --dports 81 -j CNI-DN-bbbb` + "\n"
	var saved strings.Builder
	for _, network := range []string{"kubeloupe-0a1b2c3d", "kubeloupe-other", "bridge", "kubeloupe-0a1b2c3d", "kubeloupe-ffffffff", "x-kubeloupe-00000000"} {
		fmt.Fprintf(&saved, rule, network)
	}
	if diff := cmp.Diff([]string{"0a1b2c3d", "ffffffff"}, portmapLabs(saved.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A build that fails or is aborted leaves nothing that a later call would take.
func TestEnsure(t *testing.T) {
	t.Setenv("KUBELOUPE_CACHE", t.TempDir())
	b, err := newBuilder(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.ensure("tool", "v1", "bin", func(tmp string) error {
		return errors.Join(errors.New("no compiler"), os.WriteFile(filepath.Join(tmp, "half"), nil, 0o644))
	}); err == nil || !strings.Contains(err.Error(), "tool v1: no compiler") {
		t.Errorf("failing build: %v", err)
	}
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := b.ensure("tool", "v1", "bin", func(tmp string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(tmp, "tool"), nil, 0o755)
			})
			if err != nil || !exists(filepath.Join(dir, "tool")) || exists(filepath.Join(dir, "half")) {
				t.Errorf("%s: %v", dir, err)
			}
		})
	}
	wg.Wait()
	if builds.Load() != 1 {
		t.Errorf("built %d times", builds.Load())
	}
	if left, _ := filepath.Glob(b.path("tool", ".v1-*")); len(left) > 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

// The same inputs give the same images, so that a rebuilt cache changes no digest.
func TestImagesReproducible(t *testing.T) {
	b := busybox{program: []byte("busybox"), applets: []string{"sh", "busybox", "usr/bin/wc"}}
	digest := func() string {
		layers := append([]layerFunc{b.layer(), smallFiles("a", 250)}, randomLayers(2, 1000)...)
		img, err := makeImage(v1.Config{Cmd: []string{"sh"}}, layers)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Layers) != 4 || manifest.Layers[2].Digest == manifest.Layers[3].Digest {
			t.Errorf("layers %v, want four different ones", manifest.Layers)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	if a, b := digest(), digest(); a != b {
		t.Errorf("digests %s and %s of the same image", a, b)
	}
}

func TestCheckHost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to get past the first check")
	}
	for dir, want := range map[string]string{
		"":                                 "LAB_DIR",
		"/tmp/" + strings.Repeat("x", 100): "105 bytes long",
	} {
		if _, err := checkHost(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("directory %q: %v, want %q in it", dir, err, want)
		}
	}
	if got := socketDir("/tmp/"+strings.Repeat("x", 60), "id"); got != "/run/kubeloupe-id" {
		t.Errorf("sockets of a long path go to %s", got)
	}
}

// A lab never takes over a directory with other things in it, and refuses a
// state file that was moved.
func TestClaimForeign(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(context.Background(), dir, Toolchain{}, ""); err == nil || !strings.Contains(err.Error(), "thesis") {
		t.Errorf("claim of a foreign directory: %v", err)
	}
	if err := (&state{ID: "another"}).save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("open of a moved lab: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoLab) {
		t.Errorf("open of an empty directory: %v, want ErrNoLab", err)
	}
}

func TestEnvScript(t *testing.T) {
	l := newLab("/tmp/it's", &state{ID: "id", RegistryPort: 25000, OTLPPort: 24318})
	script := l.EnvScript()
	for _, want := range []string{
		`export LAB_DIR='/tmp/it'\''s'`,
		"export REGISTRY='127.0.0.1:25000'",
		"export IMAGE_60M='127.0.0.1:25000/kubeloupe/60m:1'",
		"export OTLP_ENDPOINT='http://127.0.0.1:24318'",
		"export CGROUP_ROOT='/kubeloupe-id'",
	} {
		if !strings.Contains(script, want+"\n") {
			t.Errorf("no line %s in:\n%s", want, script)
		}
	}
}
