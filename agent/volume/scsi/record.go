package scsi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// recordFile has the record of an iSCSI disk, in its global directory. A file system that is mounted there hides it.
const recordFile = "iscsi.json"

// record is what the detachment of an iSCSI disk needs.
//
// Upstream: pkg/volume/iscsi/iscsi.go, iscsiDisk, whose exported fields are the file.
type record struct {
	VolName   string
	Portals   []string
	Iqn       string
	Lun       string
	InitIface string
	// Iface is the interface that is used; it is a copy of InitIface if there is an InitiatorName.
	Iface           string
	InitiatorName   string
	MetricsProvider any // null, as upstream's
}

// clone returns the name of the copy of an interface.
func (r *record) clone() string { return r.Portals[0] + ":" + r.VolName }

// cloned reports whether the interface was created for the volume.
func (r *record) cloned() bool { return r.InitiatorName != "" && r.Iface == r.clone() }

// dir returns the name of the global directory.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, makePDNameInternal.
func (r *record) dir() string {
	return filepath.Join("iface-"+r.Iface, r.Portals[0]+"-"+r.Iqn+"-lun-"+r.Lun)
}

// globalName matches the name of a global directory: portal, IQN, LUN.
var globalName = regexp.MustCompile(`^(.+?)-((?:iqn|eui|naa)\..+)-lun-([0-9]{1,3})$`)

// named returns what the name of a global directory says.
func named(dir string) (record, bool) {
	m := globalName.FindStringSubmatch(filepath.Base(dir))
	iface, ok := strings.CutPrefix(filepath.Base(filepath.Dir(dir)), "iface-")
	if m == nil || !ok {
		return record{}, false
	}
	r := record{Portals: m[1:2:2], Iqn: m[2], Lun: m[3], InitIface: iface, Iface: iface}
	return r, r.check() == nil
}

func (r *record) check() error {
	const of = recordFile
	errs := []error{checkCount(of+" Portals", len(r.Portals)), iqnRule.check(of, r.Iqn), clonedRule.check(of, r.Iface)}
	for _, p := range r.Portals[:min(len(r.Portals), maxPaths)] {
		errs = append(errs, portalRule.check(of, p))
	}
	if _, err := lunOf(r.Lun); err != nil || len(r.Portals) == 0 {
		errs = append(errs, fmt.Errorf("%s: Lun %.20q, %d portals: want a number and a portal", of, r.Lun, len(r.Portals)))
	}
	return first(errs)
}

// save writes the record into a global directory.
func (r *record) save(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(dir, recordFile), append(text, '\n'), 0o644)
}

// load returns the record of a global directory. If there is none that can be read, it returns what the directory's name says, as upstream.
//
// Upstream: pkg/volume/iscsi/iscsi_util.go, DetachDisk.
func (i iscsi) load(dir string) (record, error) {
	var r record
	path := filepath.Join(dir, recordFile)
	text, err := wholefile.Read(path, wholefile.Small)
	if err == nil {
		if err = json.Unmarshal(text, &r); err == nil {
			if err = r.check(); err == nil {
				return r, nil
			}
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		trace.Point(i.p.cfg.Bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: fmt.Sprintf("%s cannot be used, so the session's first portal is taken from the directory's name: %v", path, err)})
	}
	r, ok := named(dir)
	if !ok {
		return r, fmt.Errorf("%s: want a name such as iface-default/192.0.2.1:3260-iqn.2003-01.com.example:disk-lun-0", dir)
	}
	return r, nil
}

// isRecord reports whether a file of a global directory is a record, or an unfinished one.
func isRecord(name string) bool {
	return strings.TrimSuffix(name, wholefile.Unfinished) == recordFile
}

// forget removes the record.
func forget(dir string) error {
	for _, name := range []string{recordFile + wholefile.Unfinished, recordFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unique implements kind. A portal of the standard port may have been without it in the volume's source: then the node's status has that name.
func (i iscsi) unique(dir string) string {
	r, ok := named(dir)
	if !ok {
		return ""
	}
	rest := ":" + r.Iqn + ":" + r.Lun
	if short, standard := strings.CutSuffix(r.Portals[0], ":3260"); standard && i.p.cfg.Attached != nil {
		if _, is := i.p.cfg.Attached(i.p.attachName(short + rest)); is {
			return short + rest
		}
	}
	return r.Portals[0] + rest
}
