package quota

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// disk is a file system in memory.
type disk struct {
	off   bool // it does not count
	fails error

	mu      sync.Mutex
	dirs    map[string]*node
	used    map[uint32]Usage
	limited map[uint32]bool
}

// node is a directory; it is the directory that is open, too.
type node struct {
	disk    *disk
	id      uint32
	inherit bool
	full    bool
	refuses error // a project
}

func (d *disk) open(dir string) (directory, error) {
	if n := d.dirs[dir]; n != nil {
		return n, nil
	}
	return nil, os.ErrNotExist
}

func (n *node) accounts() (bool, error)        { return !n.disk.off, n.disk.fails }
func (n *node) project() (uint32, bool, error) { return n.id, n.inherit, nil }
func (n *node) empty() (bool, error)           { return !n.full, nil }
func (n *node) close()                         {}

func (n *node) setProject(id uint32) error {
	if n.refuses != nil {
		return n.refuses
	}
	n.id, n.inherit = id, true
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.used[id] = Usage{4096, 1}
	return nil
}

func (n *node) quota(id uint32) (Usage, bool, error) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	return n.disk.used[id], n.disk.limited[id], nil
}

func newDisk(dirs map[string]*node) *disk {
	d := &disk{dirs: dirs, used: map[uint32]Usage{}, limited: map[uint32]bool{}}
	for _, n := range dirs {
		n.disk = d
	}
	return d
}

func TestAssign(t *testing.T) {
	const id = first + 7
	all := func(d *disk) { // whatever the list of people's projects leaves
		for n := range uint32(attempts) {
			d.used[first+n] = Usage{Inodes: 1}
		}
	}
	for name, tc := range map[string]struct {
		dir, above node
		change     func(*disk)
		want       bool
		id         uint32
		log        string
	}{
		"an empty directory":                 {want: true, id: first},
		"one of before":                      {dir: node{id: id, inherit: true, full: true}, want: true, id: id},
		"somebody's":                         {dir: node{id: 42, inherit: true}, id: 42},
		"somebody's who took a large id":     {dir: node{id: id, inherit: true}, above: node{id: id, inherit: true}, id: id},
		"one that its files do not inherit":  {dir: node{id: id}, id: id},
		"something is in it":                 {dir: node{full: true}},
		"a file system that does not count":  {change: func(d *disk) { d.off = true }},
		"a file system that cannot be asked": {change: func(d *disk) { d.fails = errors.New("no") }, log: "quota: /v/dir gets no project and is measured by a scan: no"},
		"a file system without projects":     {dir: node{refuses: errors.New("not supported")}, log: "set its project to 1048577: not supported"},
		"ids that have files":                {change: func(d *disk) { d.used[first], d.used[first+1] = Usage{Inodes: 1}, Usage{Bytes: 1} }, want: true, id: first + 2},
		"an id that has a limit":             {change: func(d *disk) { d.limited[first] = true }, want: true, id: first + 1},
		"no id":                              {change: all, log: "none of 10000 ids from 1048577 on is free"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(map[string]*node{"/v": &tc.above, "/v/dir": &tc.dir})
			if tc.change != nil {
				tc.change(d)
			}
			rec := tracetest.New(t)
			p := New(Config{Listed: []string{filepath.Join(t.TempDir(), "projects")}, Bus: rec.Bus()})
			p.kernel = d
			if got := p.Assign("/v/dir"); got != tc.want || tc.dir.id != tc.id {
				t.Errorf("%t, project %d, want %t, %d", got, tc.dir.id, tc.want, tc.id)
			}
			var log string
			for _, e := range tracetest.Events[trace.Log](rec) {
				log += e.Message
			}
			if (log == "") != (tc.log == "") || !strings.Contains(log, tc.log) {
				t.Errorf("log %q, want %q", log, tc.log)
			}
		})
	}
}

// Directories that are made at the same time get projects of their own, and not those of people.
func TestUnique(t *testing.T) {
	const many = 50
	dirs := map[string]*node{"/v": {}}
	for n := range many {
		dirs["/v/"+string(rune('A'+n))] = &node{}
	}
	d := newDisk(dirs)
	list := filepath.Join(t.TempDir(), "projid")
	if err := os.WriteFile(list, []byte("# comment:1048578\nweb:1048579\n\n1048580:/srv\n:::\n-1:x\n99999999999:y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New(Config{Listed: []string{list}})
	p.kernel = d
	var wg sync.WaitGroup
	for dir := range dirs {
		if dir != "/v" {
			wg.Go(func() { p.Assign(dir) })
		}
	}
	wg.Wait()
	ids := map[uint32]int{}
	for _, n := range dirs {
		ids[n.id]++
	}
	want := map[uint32]int{0: 1}
	for id := first; len(want) <= many; id++ {
		if id != 1048579 && id != 1048580 {
			want[id] = 1
		}
	}
	if !maps.Equal(ids, want) {
		t.Errorf("directories by project %v, want %v", ids, want)
	}
}

func TestUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		dir    node
		off    bool
		counts Usage
		want   bool
	}{
		"counted":         {dir: node{id: first, inherit: true}, counts: Usage{8192, 2}, want: true},
		"no project":      {counts: Usage{8192, 2}},
		"switched off":    {dir: node{id: first, inherit: true}, off: true, counts: Usage{8192, 2}},
		"made without it": {dir: node{id: first, inherit: true}},
		"somebody's":      {dir: node{id: 7, inherit: true}, counts: Usage{8192, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(map[string]*node{"/v": {}, "/v/dir": &tc.dir})
			d.off, d.used[tc.dir.id] = tc.off, tc.counts
			p := New(Config{})
			p.kernel = d
			if got, ok := p.Usage("/v/dir"); ok != tc.want || ok && got != tc.counts {
				t.Errorf("%+v, %t", got, ok)
			}
			if _, ok := p.Usage("/v/gone"); ok {
				t.Error("a directory that is not there is counted")
			}
		})
	}
}

func TestCounts(t *testing.T) {
	disk, memory := v1.Volume{}, v1.Volume{}
	disk.EmptyDir = &v1.EmptyDirVolumeSource{}
	memory.EmptyDir = &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}
	for _, tc := range []struct {
		hostUsers *bool
		volume    v1.Volume
		want      bool
	}{
		{new(false), disk, true},
		{new(true), disk, false},
		{nil, disk, false},
		{new(false), memory, false},
		{new(false), v1.Volume{}, false},
	} {
		if got := Counts(&v1.Pod{Spec: v1.PodSpec{HostUsers: tc.hostUsers}}, &tc.volume); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

// A list that is not readable as a whole could have any id in it: none is chosen.
func TestListTooLong(t *testing.T) {
	list := filepath.Join(t.TempDir(), "projid")
	if err := os.WriteFile(list, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &node{}
	p := New(Config{Listed: []string{list}})
	p.kernel = newDisk(map[string]*node{"/v": {}, "/v/dir": n})
	if p.Assign("/v/dir") || n.id != 0 {
		t.Errorf("project %d", n.id)
	}
}
