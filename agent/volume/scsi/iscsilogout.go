package scsi

import "context"

// detach implements kind: it removes the disk's devices, and ends the sessions that no other volume of the node uses.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, DetachDisk, DetachBlockISCSIDisk, isSessionBusy.
func (i iscsi) detach(ctx context.Context, dir, _, of string) error {
	r, err := i.load(dir)
	if err != nil {
		return err
	}
	give, err := i.takeTarget(ctx, r.Iqn, of)
	if err != nil {
		return err
	}
	defer give()
	others, err := i.others(dir, r)
	if err != nil {
		return err
	}
	all, err := i.p.sessions(r.Iqn)
	if err != nil {
		return err
	}
	if !others.luns[r.Lun] {
		var disks []string
		for _, s := range all {
			disk, err := s.disk(r.Lun)
			if err != nil {
				return err
			}
			disks = append(disks, disk)
		}
		if err := i.p.remove(ctx, of, disks); err != nil {
			return err
		}
	}
	if err := i.logout(ctx, of, r, all, others); err != nil {
		return err
	}
	return forget(dir)
}

// others is what other volumes use of a target.
type others struct{ luns, portals map[string]bool }

// others looks at the other global directories. As upstream, a directory counts whether or not something is mounted there.
func (i iscsi) others(dir string, r record) (others, error) {
	out := others{map[string]bool{}, map[string]bool{}}
	for _, block := range []bool{false, true} {
		all, err := i.p.globals(block)
		if err != nil {
			return out, err
		}
		for _, other := range all {
			if o, ok := named(other); ok && other != dir && o.Iqn == r.Iqn {
				out.luns[o.Lun], out.portals[o.Portals[0]] = true, true
			}
		}
	}
	return out, nil
}

// logout ends the sessions with the portals, except those through which another disk is used, and deletes what attach has created.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, detachISCSIDisk, which ends the sessions with all portals if no other volume has the same first one.
func (i iscsi) logout(ctx context.Context, of string, r record, all []session, others others) error {
	kept := false
	seen := map[string]bool{}
	for _, portal := range r.Portals {
		if seen[portal] {
			continue
		}
		seen[portal] = true
		keep := others.portals[portal]
		if s, in := sessionOf(all, portal); in {
			var err error
			if keep, err = i.busy(s, r.Lun, others); err != nil {
				return err
			}
		}
		if keep {
			kept = true
			continue
		}
		node := "-m node -p " + portal + " -T " + r.Iqn
		if err := i.end(ctx, "logout", portal, of, node+" --logout -I "+r.Iface, len(all) > 0); err != nil {
			return err
		}
		if err := i.end(ctx, "delete node", portal, of, node+" -o delete -I "+r.Iface, len(all) > 0); err != nil {
			return err
		}
	}
	if !r.cloned() || kept {
		return nil
	}
	return i.end(ctx, "delete interface", r.Iface, of, "-m iface -I "+r.Iface+" -o delete", len(all) > 0)
}

// end runs iscsiadm to remove something, which may not exist. If the target has no session, a failure is a warning: nothing is left but
// records of iscsiadm, which may not even be installed.
func (i iscsi) end(ctx context.Context, doing, at, of, line string, sessions bool) error {
	_, err := i.p.adm(ctx, doing, at, of, line)
	switch {
	case err == nil, exited(err, statusNone, statusEmpty):
		return nil
	case sessions, ctx.Err() != nil:
		return err
	}
	i.p.warn(ctx, of, err)
	return nil
}

// busy reports whether a disk of a session is used by another volume, or, if it is not the LUN, by anything else on the node.
func (i iscsi) busy(s session, lun string, others others) (bool, error) {
	luns, err := s.luns()
	if err != nil {
		return false, err
	}
	for l, disk := range luns {
		switch {
		case others.luns[l]:
			return true, nil
		case l == lun:
			continue
		}
		if by, err := i.p.usedBy(disk); err != nil || by != "" {
			return true, err
		}
	}
	return false, nil
}
