package checkpoint

import (
	"bytes"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// upstream is a checkpoint that upstream's v1.37.1 wrote.
const upstream = "testdata/upstream-v1.37.1.json"

// TestUpstream reads what upstream wrote, and writes the same bytes: so upstream reads what this package writes.
func TestUpstream(t *testing.T) {
	claims, err := Read(upstream)
	if err != nil {
		t.Fatal(err)
	}
	share := types.UID("11111111-2222-3333-4444-555555555555")
	want := []Claim{
		{
			ClaimUID: "c1", ClaimName: "gpu", Namespace: "ns", PodUIDs: sets.New("p1", "p2"), DriverState: map[string]Driver{
				"gpu.example.com": {Devices: []Device{
					{PoolName: "node", DeviceName: "gpu-0", RequestNames: []string{"one"}, CDIDeviceIDs: []string{"example.com/gpu=0", "example.com/gpu=0<a>"}},
					{PoolName: "node", DeviceName: "gpu-1", ShareID: &share},
				}},
				"nic.example.com": {SkipNodeOperations: []resourceapi.SkipNodeOperation{resourceapi.SkipNodeOperationAll}},
			},
		},
		{ClaimUID: "c2", ClaimName: "nic", Namespace: "ns", PodUIDs: sets.New("p1"), DriverState: map[string]Driver{}},
	}
	if d := cmp.Diff(want, claims); d != "" {
		t.Error(d)
	}
	path := filepath.Join(t.TempDir(), Name)
	if err := Write(path, claims); err != nil {
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

// A node without claims has the file that upstream creates at its first start.
func TestNoClaims(t *testing.T) {
	const theirs = `{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":null}","Checksum":4010664294}`
	ours, err := format(nil)
	if err != nil || string(ours) != theirs {
		t.Errorf("got %s, %v", ours, err)
	}
	if claims, err := parse([]byte(theirs)); len(claims) > 0 || err != nil {
		t.Error(claims, err)
	}
}

// wrap returns a file with that content, and the right checksum.
func wrap(data string) string {
	return `{"Data":` + strconv.Quote(data) + `,"Checksum":` + strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(data))), 10) + `}`
}

// Files that were written by halves, damaged, or by another version are not changed.
func TestUnreadable(t *testing.T) {
	whole, err := os.ReadFile(upstream)
	if err != nil {
		t.Fatal(err)
	}
	const head = `{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":`
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "is empty"},
		"half":            {string(whole[:len(whole)/2]), "unexpected end of JSON input"},
		"no JSON":         {"hello", "invalid character"},
		"another type":    {`{"Data":7}`, "cannot unmarshal number"},
		"damaged":         {strings.Replace(string(whole), "gpu-1", "gpu-7", 1), "checkpoint is corrupted: checksum"},
		"without data":    {`{"Checksum":1}`, "checkpoint is corrupted: checksum 1, want 0"},
		"no claims":       {`{}`, "unexpected end of JSON input"},
		"newer version":   {wrap(`{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v2"}`), "another version wrote it"},
		"another kind":    {wrap(`{"kind":"Checkpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1"}`), "another version wrote it"},
		"content damaged": {wrap(`{"kind":`), "unexpected end of JSON input"},
		"no name":         {wrap(head + `[{"ClaimUID":"u"}]}`), "want a name and a UID"},
		"twice":           {wrap(head + `[{"ClaimUID":"u","ClaimName":"n"},{"ClaimUID":"v","ClaimName":"n"}]}`), "each claim once"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if bad, ok := errors.AsType[*UnreadableError](err); !ok || bad.Path != path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != c.text {
			t.Errorf("%s: the file is %q now, %v", name, left, err)
		}
	}
	if claims, err := Read(filepath.Join(dir, "none")); claims != nil || err != nil {
		t.Error("no file:", claims, err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("took a directory")
	}
}

// What cannot be written leaves the old file.
func TestTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	old := []Claim{{ClaimUID: "u", ClaimName: "n", Namespace: "ns", PodUIDs: sets.New("p")}}
	if err := Write(path, old); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []Claim{{ClaimName: strings.Repeat("x", maxSize)}}); err == nil || !strings.Contains(err.Error(), "more than the limit") {
		t.Error(err)
	}
	if got, err := Read(path); err != nil || cmp.Diff(old, got) != "" {
		t.Error(got, err)
	}
}

// Size is never less than what devices add to the file.
func TestSize(t *testing.T) {
	share := types.UID("s\"")
	all := map[string][]Device{
		"empty": {{}, {}},
		"usual": {{PoolName: "pool", DeviceName: "gpu-0", ShareID: &share, RequestNames: []string{"a", "b"}, CDIDeviceIDs: []string{"example.com/gpu=0"}}, {DeviceName: "gpu-1"}},
	}
	for _, text := range []string{"<", "&", "\"", `\\`, "\x01", "\n", "\x7f", "\u00e9", "\u2028", "\xff", "\U0001f600"} {
		all[text] = []Device{{PoolName: strings.Repeat(text, 1000), RequestNames: []string{strings.Repeat(text, 1000), text}, CDIDeviceIDs: []string{text}}}
	}
	length := func(devices []Device) int {
		out, err := format([]Claim{{DriverState: map[string]Driver{"d": {Devices: devices}}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out)
	}
	for name, devices := range all {
		if got, want := Size(devices), length(devices)-length([]Device{}); got < want {
			t.Errorf("%q: %d, want at least %d", name, got, want)
		}
	}
}
