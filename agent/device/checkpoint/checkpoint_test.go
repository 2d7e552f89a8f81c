package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// upstream is a checkpoint that upstream's v1.37.1 wrote.
const upstream = "testdata/upstream-v1.37.1.json"

// TestUpstream reads what upstream wrote, and writes the same bytes: so upstream reads what this package writes.
func TestUpstream(t *testing.T) {
	entries, registered, there, err := Read(upstream)
	if err != nil || !there {
		t.Fatal(there, err)
	}
	want := []DevicesPerNUMA{{0: {"g0", "g1"}, 1: {"g1"}}, {-1: {"n0"}}}
	if len(entries) != 2 || cmp.Diff(want, []DevicesPerNUMA{entries[0].DeviceIDs, entries[1].DeviceIDs}) != "" {
		t.Errorf("got %+v", entries)
	}
	if d := cmp.Diff(map[string][]string{"example.com/gpu": {"g0", "g1", "g2"}, "example.com/nic": {}}, registered); d != "" {
		t.Error(d)
	}
	var answer pluginapi.ContainerAllocateResponse
	if err := proto.Unmarshal(entries[0].AllocResp, &answer); err != nil || answer.Envs["A"] != "b" {
		t.Error(&answer, err)
	}
	path := filepath.Join(t.TempDir(), Name)
	if err := Write(path, entries, registered); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(upstream)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(theirs, ours) {
		t.Errorf("got  %s, %v\nwant %s", ours, err, theirs)
	}
}

// Size is never less than what a device adds to the file.
func TestSize(t *testing.T) {
	for name, e := range map[string]PodDevicesEntry{
		"empty":    {},
		"usual":    {DeviceIDs: DevicesPerNUMA{-1: {"g0", "g1"}, 1: {"g2"}}, AllocResp: []byte("answer")},
		"escaped":  {DeviceIDs: DevicesPerNUMA{0: {strings.Repeat("<", 1000), strings.Repeat("\x01", 1000), strings.Repeat("\u2028", 1000)}}},
		"no names": {DeviceIDs: DevicesPerNUMA{1 << 62: {""}, -1 << 63: {}}, AllocResp: make([]byte, 1<<20)},
	} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := Size(e.DeviceIDs, len(e.AllocResp)); got < len(text) {
			t.Errorf("%s: %d, want at least %d", name, got, len(text))
		}
	}
}

// Resources whose plugins have very long IDs are written without them. What containers have is written, and the others' IDs if they fit.
func TestLongIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	entries := []PodDevicesEntry{{PodUID: "p1", ContainerName: "c", ResourceName: "example.com/nic", DeviceIDs: DevicesPerNUMA{-1: {"n0"}}}}
	long := make([]string, 0, 4000)
	for i := range 4000 {
		long = append(long, fmt.Sprintf("%04d%s", i, strings.Repeat("<", 1000)))
	}
	registered := map[string][]string{"example.com/nic": {"n0"}, "example.com/a": long, "example.com/b": long, "example.com/c": long}
	if err := Write(path, entries, registered); err != nil {
		t.Fatal(err)
	}
	got, names, _, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"example.com/nic": {}, "example.com/a": {}, "example.com/b": {}, "example.com/c": {}}
	if d := cmp.Diff(entries, got) + cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

// Files that were written by halves, damaged, or by a newer version.
func TestUnreadable(t *testing.T) {
	whole, err := os.ReadFile(upstream)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{
		"empty": {}, "half": whole[:len(whole)/2], "no JSON": []byte("hello"), "another type": []byte(`{"Data":7}`),
		"damaged":      bytes.Replace(whole, []byte("g2"), []byte("g3"), 1),
		"without data": []byte(`{"Checksum":1}`),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, there, err := Read(path)
		if bad, ok := errors.AsType[*UnreadableError](err); !ok || !there || bad.Path != path {
			t.Errorf("%s: there %v, %v", name, there, err)
		}
	}
	if _, _, there, err := Read(filepath.Join(dir, "none")); there || err != nil {
		t.Errorf("no file: there %v, %v", there, err)
	}
	if _, _, _, err := Read(dir); err == nil {
		t.Error("took a directory")
	}
}
