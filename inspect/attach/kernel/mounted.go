package kernel

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// mountsEvery is how often the kernel is asked whether the mount table has changed: so exactly the time of a mount is known.
	mountsEvery = 25 * time.Millisecond
	// maxVolumes bounds the mounted volumes that are known, and the volumes whose mounting others tell of.
	maxVolumes = 1 << 13
	// unnamedFor is how long a mount waits for somebody to tell of its pod: without the kubelet's log that is the API server's watch or a poll.
	unnamedFor = time.Minute
)

// volumeMount is where a volume of a pod is mounted below the kubelet's root directory. CSI volumes are a level deeper.
var volumeMount = regexp.MustCompile(`/pods/([-0-9a-f]{8,64})/volumes/([^/ ]{1,253}~[^/ ]{1,253})/([^/ ]{1,253})(/mount)?$`)

// mountedVolume is a volume on a pod's disk.
type mountedVolume struct{ uid, plugin, name string }

// volumeAt is the volume that is mounted at a path; false for all other mounts, also those within a volume.
func volumeAt(mountpoint string) (v mountedVolume, ok bool) {
	m := volumeMount.FindStringSubmatch(mountpoint)
	if m == nil || (m[4] != "") != (m[2] == "kubernetes.io~csi") {
		return v, false
	}
	return mountedVolume{uid: m[1], plugin: strings.ReplaceAll(m[2], "~", "/"), name: m[3]}, true
}

// volumes tells when volumes are mounted, until ctx ends. Those that were there before have no times.
func (k *Kernel) volumes(ctx context.Context) error {
	if k.cfg.RootDir == "" {
		return nil
	}
	table, err := openTable(fmt.Sprintf("/proc/%d/mountinfo", k.cfg.Kubelet))
	if err != nil {
		k.cfg.Say("mounts of volumes are not seen: " + err.Error())
		return nil
	}
	defer table.close()
	there, err := k.mountedVolumes(nil)
	if err != nil {
		k.cfg.Say("mounts of volumes are not seen: " + err.Error())
		return nil
	}
	t := time.NewTicker(mountsEvery)
	defer t.Stop()
	var unnamed []trace.Record
	for before := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		now := time.Now()
		if table.changed() {
			after, err := k.mountedVolumes(there)
			if err != nil {
				continue // the kubelet has ended, which others say
			}
			unnamed = append(unnamed, mountedNow(there, after, before, now)...)
			there = after
		}
		unnamed = k.putNamed(unnamed, now)
		before = now
	}
}

// mountedVolumes are the volumes that are mounted now.
func (k *Kernel) mountedVolumes(before map[mountedVolume]string) (map[mountedVolume]string, error) {
	b, err := text(fmt.Sprintf("/proc/%d/mountinfo", k.cfg.Kubelet), maxMounts)
	if err != nil {
		return nil, err
	}
	there := make(map[mountedVolume]string, len(before))
	for line := range bytes.Lines(b) {
		if !bytes.Contains(line, []byte("/volumes/")) { // most are no volumes
			continue
		}
		mounts, err := parseMounts(line, nil)
		if err != nil {
			continue
		}
		for _, m := range mounts {
			if v, ok := volumeAt(m.Mountpoint); ok && len(there) < maxVolumes {
				there[v] = m.Mountpoint
			}
		}
	}
	return there, nil
}

// mountedNow are records of the volumes that were not mounted before, and are now.
func mountedNow(before, after map[mountedVolume]string, from, now time.Time) (mounted []trace.Record) {
	for v, at := range after {
		if _, ok := before[v]; ok || len(before) >= maxVolumes {
			continue
		}
		mounted = append(mounted, trace.Record{
			Time: now.UnixNano(), Span: trace.NewSpanID(), Precision: trace.PrecisionOf(now.Sub(from)), Pod: trace.Pod{UID: v.uid},
			Event: &trace.Volume{Op: trace.VolumeSetup, Name: v.name, Plugin: v.plugin, Path: at},
		})
	}
	return mounted
}

// putNamed passes on the mounts of pods that somebody has told of by now. It returns those that wait, the latest maxVolumes at most.
func (k *Kernel) putNamed(mounts []trace.Record, now time.Time) (unnamed []trace.Record) {
	for _, r := range mounts {
		switch p, _ := k.known.of(r.Pod.UID); {
		case p.Name != "":
			k.put(r)
		case now.Sub(r.At()) < unnamedFor:
			unnamed = append(unnamed, r)
		}
	}
	return unnamed[max(0, len(unnamed)-maxVolumes):]
}

// setups are the volumes whose setup another observer tells of, with its begin and its end: the mount is between. It is for one goroutine.
type setups map[setupOf]bool

// setupOf is a volume of a pod.
type setupOf struct{ uid, name string }

// see takes in a record of a volume. It returns false for a mount that another observer's setup includes.
func (s setups) see(r *trace.Record, e *trace.Volume) (keep bool) {
	of := setupOf{r.Pod.UID, e.Name}
	if r.Observer == trace.ObserverKernel {
		return !s[of]
	}
	if e.Op == trace.VolumeSetup && r.Edge == trace.EdgeBegin && of.uid != "" {
		if len(s) >= maxVolumes {
			clear(s)
		}
		s[of] = true
	}
	return true
}

// gone forgets the volumes of a pod.
func (s setups) gone(uid string) {
	for of := range s {
		if of.uid == uid {
			delete(s, of)
		}
	}
}
