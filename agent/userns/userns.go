// Package userns allocates a range of the host's IDs to each pod with hostUsers: false.
//
// It owns the file ROOT/pods/UID/userns, which it reads after a restart, and the choice of ranges: no two pods on the
// node have the same. They are in the range of the user kubelet in /etc/subuid and /etc/subgid, if there is one. It never accesses containers,
// runs no goroutine, and publishes a Decision for each allocated range and a Log for an invalid file.
//
// Upstream: pkg/kubelet/userns/userns_manager.go, KEP-127.
package userns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// DefaultPerPod is the number of IDs of a pod.
	DefaultPerPod = 65536
	fileName      = "userns"
)

// Config is what Ranges needs.
type Config struct {
	// RootDir is the kubelet's root directory.
	RootDir string
	// PerPod is the number of IDs of a pod, a multiple of 65536; 0 means DefaultPerPod.
	PerPod int64
	// MaxPods is the number of pods for which Range must be enough. There can be more for a moment: pods that have no place any more terminate
	// while others start.
	MaxPods int
	// Range is the IDs that pods may have.
	Range Range
	Bus   *trace.Bus
}

// Ranges allocates ranges of IDs to pods. By default, the first range begins at PerPod: the host's own IDs are never mapped.
type Ranges struct {
	cfg Config

	mu   sync.Mutex
	used map[uint32]types.UID // by first ID
	// spoilt are pods with an invalid file.
	spoilt map[types.UID]error
}

// mappings is the file's content.
type mappings struct {
	UIDs []mapping `json:"uidMappings"`
	GIDs []mapping `json:"gidMappings"`
}

type mapping struct {
	Host      uint32 `json:"hostId"`
	Container uint32 `json:"containerId"`
	Length    uint32 `json:"length"`
}

// New reads which ranges are in use. An invalid file is reported. While its pod exists, no range is allocated to
// another pod, because it might be the same one. That a pod has IDs outside of Range is an error.
//
// Upstream: pkg/kubelet/userns/userns_manager.go, MakeUserNsManager and record.
func New(cfg Config) (*Ranges, error) {
	if cfg.PerPod == 0 {
		cfg.PerPod = DefaultPerPod
	}
	if cfg.RootDir == "" || cfg.MaxPods < 1 {
		return nil, errors.New("userns: Config needs RootDir and MaxPods")
	}
	if cfg.PerPod < 0 || cfg.PerPod%DefaultPerPod != 0 || cfg.PerPod*int64(cfg.MaxPods+1) > 1<<32 {
		return nil, fmt.Errorf("userNamespaces.idsPerPod: %d is not a multiple of %d of which %d fit 32 bits", cfg.PerPod, DefaultPerPod, cfg.MaxPods+1)
	}
	if cfg.Range == (Range{}) {
		cfg.Range = Range{First: cfg.PerPod, Length: 1<<32 - cfg.PerPod}
	} else if err := cfg.Range.check(cfg.PerPod, int64(cfg.MaxPods)); err != nil {
		return nil, err
	}
	r := &Ranges{cfg: cfg, used: map[uint32]types.UID{}, spoilt: map[types.UID]error{}}
	files, err := filepath.Glob(filepath.Join(cfg.RootDir, "pods", "*", fileName))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		uid := types.UID(filepath.Base(filepath.Dir(f)))
		m, err := r.read(uid)
		if err != nil {
			r.spoilt[uid] = err
			trace.Point(cfg.Bus, trace.Span{}, trace.Log{
				Level: trace.LevelError, Message: fmt.Sprintf("the user namespace of pod %s: %v; until it is gone, no other pod gets one", uid, err),
			})
			continue
		}
		first := m.UIDs[0].Host
		if host := int64(first); host < cfg.Range.First || host >= cfg.Range.First+cfg.Range.Length {
			return nil, fmt.Errorf("%s: hostId is %d, outside of the range %d to %d of user %s in %s: set the former range, or drain the node and remove the pod's directory",
				f, host, cfg.Range.First, cfg.Range.First+cfg.Range.Length-1, subidUser, subidFiles)
		}
		r.used[first] = uid
	}
	return r, nil
}

func (r *Ranges) file(uid types.UID) string {
	return filepath.Join(r.cfg.RootDir, "pods", string(uid), fileName)
}

func (r *Ranges) read(uid types.UID) (*mappings, error) {
	text, err := wholefile.Read(r.file(uid), wholefile.Small)
	if err != nil {
		return nil, err
	}
	m, err := parse(text, r.cfg.PerPod)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.file(uid), err)
	}
	return m, nil
}

// parse decodes a file: one range with perPod IDs.
func parse(text []byte, perPod int64) (*mappings, error) {
	m := &mappings{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	if len(m.UIDs) != 1 || len(m.GIDs) != 1 || m.UIDs[0] != m.GIDs[0] || m.UIDs[0].Container != 0 || int64(m.UIDs[0].Length) != perPod {
		return nil, fmt.Errorf("want one mapping of %d ids from 0, the same for users and groups", perPod)
	}
	// With others, its root would be the node's, or some of its IDs another pod's.
	if host := int64(m.UIDs[0].Host); host < perPod || host%perPod != 0 || host+perPod > 1<<32 {
		return nil, fmt.Errorf("hostId is %d: want a multiple of %d, not 0, of which as many ids follow below 2^32", host, perPod)
	}
	return m, nil
}

// Of returns the pod's user namespace: nil if it uses the host's users. The first call chooses the range.
func (r *Ranges) Of(pod *v1.Pod) (*runtimeapi.UserNamespace, error) {
	if pod.Spec.HostUsers == nil || *pod.Spec.HostUsers {
		return nil, nil //nolint:nilnil // none is what the host's users mean
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.read(pod.UID)
	if errors.Is(err, fs.ErrNotExist) {
		m, err = r.choose(pod)
	}
	if err != nil {
		return nil, fmt.Errorf("user namespace: %w", err)
	}
	id := &runtimeapi.IDMapping{HostId: m.UIDs[0].Host, ContainerId: 0, Length: m.UIDs[0].Length}
	return &runtimeapi.UserNamespace{
		Mode: runtimeapi.NamespaceMode_POD, Uids: []*runtimeapi.IDMapping{id}, Gids: []*runtimeapi.IDMapping{id},
	}, nil
}

func (r *Ranges) choose(pod *v1.Pod) (*mappings, error) {
	for uid, err := range r.spoilt {
		return nil, fmt.Errorf("which ids pod %s has is not known: %w", uid, err)
	}
	first := r.free(pod.UID)
	if first == 0 {
		return nil, fmt.Errorf("all %d ranges of ids are in use", r.count())
	}
	one := mapping{Host: first, Length: uint32(r.cfg.PerPod)}
	m := &mappings{UIDs: []mapping{one}, GIDs: []mapping{one}}
	if err := write(r.file(pod.UID), m); err != nil {
		return nil, err
	}
	r.used[first] = pod.UID
	trace.Point(r.cfg.Bus, trace.ForPod(trace.Span{}, podspec.Ref(pod)), trace.Decision{
		By: trace.ByUserNS, Subject: podspec.Ref(pod).String(), Verdict: trace.VerdictMap, Reason: fmt.Sprintf("its ids are %d to %d of the host", first, first+one.Length-1),
	})
	return m, nil
}

// free returns the begin of the pod's range: its current one, if only its file was removed, because its sandbox also
// has it. 0 means none.
func (r *Ranges) free(uid types.UID) uint32 {
	for first, owner := range r.used {
		if owner == uid {
			return first
		}
	}
	for i := range r.count() {
		first := uint32(r.cfg.Range.First) + uint32(r.cfg.PerPod)*i
		if _, taken := r.used[first]; !taken {
			return first
		}
	}
	return 0
}

// count returns the number of ranges.
func (r *Ranges) count() uint32 { return uint32(r.cfg.Range.Length / r.cfg.PerPod) }

// write is durable: a range in use must survive a crash.
func write(path string, m *mappings) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return wholefile.Write(path, text, 0o600)
}

// Release releases a pod's range, when nothing of it runs any more, and removes its file.
func (r *Ranges) Release(uid types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.Remove(r.file(uid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(r.spoilt, uid)
	for first, owner := range r.used {
		if owner == uid {
			delete(r.used, first)
		}
	}
	return nil
}

// Clean releases the ranges of unknown pods.
func (r *Ranges) Clean(_ context.Context, known func(types.UID) bool) (removed []string, err error) {
	r.mu.Lock()
	var gone []types.UID
	for _, uid := range r.used {
		if !known(uid) {
			gone = append(gone, uid)
		}
	}
	for uid := range r.spoilt {
		if !known(uid) {
			gone = append(gone, uid)
		}
	}
	r.mu.Unlock()
	for _, uid := range gone {
		if e := r.Release(uid); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, fmt.Sprintf("ids of pod %s", uid))
	}
	return removed, err
}
