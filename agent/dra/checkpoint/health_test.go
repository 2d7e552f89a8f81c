package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// upstreamHealth was written with the types of upstream's v1.37.1 (pkg/kubelet/cm/dra/state).
const upstreamHealth = "testdata/upstream-health-v1.37.1.json"

// The file is upstream's: it is read, and the same bytes are written.
func TestUpstreamHealth(t *testing.T) {
	all, err := ReadHealth(upstreamHealth)
	if err != nil {
		t.Fatal(err)
	}
	for _, devices := range all {
		slices.SortFunc(devices, func(a, b DeviceHealth) int { return cmp.Compare(a.DeviceName, b.DeviceName) })
	}
	at := time.Date(2026, 3, 14, 9, 26, 53, 123456789, time.FixedZone("", 3600))
	want := map[string][]DeviceHealth{
		"gpu.example.com": {
			{PoolName: "node", DeviceName: "gpu-0", Health: "Unhealthy", LastUpdated: at, HealthCheckTimeout: time.Minute, Message: "hot <90>"},
			{PoolName: "node", DeviceName: "gpu-1", Health: "Healthy", LastUpdated: at.Add(time.Second)},
		},
		"nic.example.com": {{PoolName: "rack/a", DeviceName: "vf-0", Health: "Unknown", LastUpdated: at, HealthCheckTimeout: 30 * time.Second}},
	}
	if d := gocmp.Diff(want, all); d != "" {
		t.Error(d)
	}
	path := filepath.Join(t.TempDir(), HealthName)
	if err := WriteHealth(path, all); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(upstreamHealth)
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := os.ReadFile(path); err != nil || !bytes.Equal(theirs, ours) {
		t.Errorf("got  %s, %v\nwant %s", ours, err, theirs)
	}
}

// Files that nobody should write: an error, or what can be used of them. None is changed.
func TestStrangeHealth(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string // drivers with devices
		err     bool
	}{
		"empty":            {"", nil, true},
		"half":             {`{"a":{"Devices":{"p/d":{"PoolName":"p","Dev`, nil, true},
		"another type":     {`[1]`, nil, true},
		"a claim's file":   {`{"Data":"{}","Checksum":1}`, nil, true},
		"a time":           {`{"a":{"Devices":{"p/d":{"PoolName":"p","DeviceName":"d","LastUpdated":"yesterday"}}}}`, nil, true},
		"null":             {`null`, nil, false},
		"no devices":       {`{"a":{},"b":null}`, nil, false},
		"another key":      {`{"a":{"Devices":{"x":{"PoolName":"p","DeviceName":"d"}}},"b":{"Devices":{"p/d":{"PoolName":"p","DeviceName":"d"}}}}`, []string{"b"}, false},
		"more fields":      {`{"a":{"Devices":{"p/d":{"PoolName":"p","DeviceName":"d","New":1}}}}`, []string{"a"}, false},
		"something behind": {`{} {}`, nil, true},
	} {
		path := filepath.Join(t.TempDir(), HealthName)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := ReadHealth(path)
		var unreadable *UnreadableError
		if errors.As(err, &unreadable) != c.err || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, c.want) {
			t.Errorf("%s: drivers %q, want %q", name, got, c.want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != c.content {
			t.Errorf("%s: the file was changed: %s, %v", name, after, err)
		}
	}
}

// A file that is too long, and one that is no file.
func TestLargeHealth(t *testing.T) {
	path := filepath.Join(t.TempDir(), HealthName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHealth(path); err == nil {
		t.Error("a file that is too long was read")
	}
	large := []DeviceHealth{{PoolName: "p", DeviceName: "d", Message: strings.Repeat("x", maxSize)}}
	if err := WriteHealth(path, map[string][]DeviceHealth{"a": large}); err == nil {
		t.Error("a file was written that would be too long")
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadHealth(pipe); err == nil {
		t.Error("a named pipe was read")
	}
	if all, err := ReadHealth(filepath.Join(t.TempDir(), "none")); err != nil || len(all) != 0 {
		t.Errorf("no file: %v, %v", all, err)
	}
}
