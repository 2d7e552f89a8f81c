package scsi

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/trace"
)

// How often all portals are tried, and how many paths are enough, and after how many attempts.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go.
const (
	maxAttempts  = 5
	minAttempts  = 2
	minPaths     = 2
	mapPatience  = 10 * time.Second // for the multipath device of several paths
	statusExists = 15               // of iscsiadm: there is a session
	statusNone   = 2                // there is no session
	statusEmpty  = 21               // there is no record
)

// attaching is an iSCSI disk that is being attached.
type attaching struct {
	*Plugin
	of string // the volume's name
	*target
	secrets   map[string]string
	transport string
}

// attach implements kind. The record is written first, so that after an interruption the session is ended. The target's lock is held: two
// volumes may share its sessions.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, AttachDisk.
func (i iscsi) attach(ctx context.Context, s volume.Spec, d *disk, dir string) (device string, err error) {
	a := &attaching{Plugin: i.p, of: s.Name, target: d.iscsi}
	if a.secrets, err = i.chap(ctx, s, d.iscsi); err != nil {
		return "", err
	}
	give, err := i.takeTarget(ctx, a.Iqn, a.of)
	if err != nil {
		return "", err
	}
	defer give()
	if err := a.save(dir); err != nil {
		return "", err
	}
	if err := a.prepare(ctx); err != nil {
		return "", err
	}
	portals := a.unique()
	paths := make([]string, 0, len(portals))
	found := map[string]bool{}
	var last error
	for try := 1; try <= maxAttempts && len(paths) < len(portals) && (len(paths) < minPaths || try <= minAttempts); try++ {
		for _, portal := range portals {
			if found[portal] {
				continue
			}
			path, err := a.path(ctx, portal)
			if err != nil && final(ctx, err) {
				return "", err
			}
			if err != nil {
				last = err
				continue
			}
			found[portal] = true
			paths = append(paths, path)
		}
		if len(paths) == 0 {
			return "", fmt.Errorf("no portal of target %s has a path to the disk: %w", a.Iqn, last)
		}
	}
	if last != nil && len(paths) < len(portals) {
		i.p.warn(ctx, a.of, fmt.Errorf("it uses %d of %d portals: %w", len(paths), len(portals), last))
	}
	return a.multipath(ctx, paths, len(portals) > 1)
}

// takeTarget waits for the lock of a target.
func (i iscsi) takeTarget(ctx context.Context, iqn, of string) (func(), error) {
	return i.p.locks.Take(ctx, i.p.cfg.Bus, "target "+iqn, of)
}

// unique returns the portals, each once.
func (a *attaching) unique() (out []string) {
	seen := map[string]bool{}
	for _, p := range a.Portals {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// path returns a link to the disk's device through a portal, after a login if there is no session.
func (a *attaching) path(ctx context.Context, portal string) (string, error) {
	all, err := a.sessions(a.Iqn)
	if err != nil {
		return "", err
	}
	s, in := sessionOf(all, portal)
	if !in {
		if err := a.login(ctx, portal); err != nil {
			return "", err
		}
		if all, err = a.sessions(a.Iqn); err != nil {
			return "", err
		}
		if s, in = sessionOf(all, portal); !in {
			return "", fmt.Errorf("iscsiadm has logged in to portal %s, but %s has no session with it", portal, a.sys("class", "iscsi_host"))
		}
	}
	// Only this LUN: others of the target must not appear on the node.
	if err := put(a.sys("class", "scsi_host", "host"+strconv.Itoa(s.host), "scan"), "0 0 "+a.Lun); err != nil {
		return "", fmt.Errorf("scan for LUN %s: %w", a.Lun, err)
	}
	link := "ip-" + strings.NewReplacer("[", "", "]", "").Replace(portal) + "-iscsi-" + a.Iqn + "-lun-" + a.Lun
	return a.await(ctx, a.of, link+" in "+a.byPath(), func() string { return a.link(link) })
}

func (p *Plugin) byPath() string { return filepath.Join(p.cfg.Dev, "disk", "by-path") }

// link returns the path of a link that exists; "" if it does not. Other transports than TCP have a device of the PCI bus in its name.
func (a *attaching) link(name string) string {
	all, err := names(a.byPath())
	if err != nil {
		return ""
	}
	for _, l := range all {
		if path := filepath.Join(a.byPath(), l); (l == name || a.transport != "tcp" && strings.HasPrefix(l, "pci-") && strings.HasSuffix(l, "-"+name)) && a.block(path) != "" {
			return path
		}
	}
	return ""
}

// await waits until look returns a path.
func (p *Plugin) await(ctx context.Context, of, what string, look func() string) (path string, err error) {
	wait := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: of}, Limit: p.cfg.Appear, Note: "the device " + what + " has to appear"}
	is, err := volume.Poll(ctx, p.cfg.Bus, wait, func() bool {
		path = look()
		return path != ""
	})
	if err == nil && !is {
		err = fmt.Errorf("the device %s has not appeared within %v", what, p.cfg.Appear)
	}
	return path, err
}

// multipath returns the multipath device of the paths, or the first path if there is none.
func (a *attaching) multipath(ctx context.Context, paths []string, several bool) (device string, err error) {
	look := func() bool {
		for _, path := range paths {
			var dm string
			if dm, err = a.mapOf(a.block(path)); err != nil || dm != "" {
				device = a.device(dm)
				return true
			}
		}
		return false
	}
	wait := trace.Wait{For: trace.WaitAttach, Target: trace.Target{Kind: trace.TargetVolume, Name: a.of}, Limit: min(mapPatience, a.cfg.Appear), Note: "multipathd has to create a device"}
	is := false
	if several {
		var ended error
		if is, ended = volume.Poll(ctx, a.cfg.Bus, wait, look); ended != nil {
			return "", ended
		}
	} else {
		is = look()
	}
	if err != nil {
		return "", fmt.Errorf("look for a multipath device: %w", err)
	}
	if !is {
		device = paths[0]
	}
	return device, nil
}
