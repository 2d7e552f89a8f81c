package scsi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

func (p *Plugin) sys(elements ...string) string {
	return filepath.Join(append([]string{p.cfg.Sys}, elements...)...)
}

// names lists a directory; nothing if it does not exist.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, nil
}

// value returns the line in a file of sysfs; "" if it cannot be read: the session or disk may have disappeared.
func value(elements ...string) string {
	text, err := wholefile.Read(filepath.Join(elements...), wholefile.Small)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// put writes into a file of sysfs that exists.
func put(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// block returns the name of a block device, such as sdb, by its path, which may be a link; "" if it does not exist.
//
// Upstream: pkg/volume/util/device_util_linux.go, findDeviceForPath.
func (p *Plugin) block(path string) string {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Dir(actual) != p.cfg.Dev {
		return ""
	}
	return filepath.Base(actual)
}

func (p *Plugin) device(name string) string { return filepath.Join(p.cfg.Dev, name) }

// mapOf returns the multipath device, such as dm-0, that has a disk as a path; "" for none. A disk that another device mapper uses, such as a
// physical volume of LVM, has none.
//
// Upstream: pkg/volume/util/device_util_linux.go, FindMultipathDeviceForDevice, which does not tell multipath from LVM.
func (p *Plugin) mapOf(name string) (string, error) {
	all, err := names(p.sys("block"))
	if err != nil || name == "" {
		return "", err
	}
	for _, dm := range all {
		if !strings.HasPrefix(dm, "dm-") {
			continue
		}
		if id := value(p.sys("block", dm, "dm", "uuid")); id != "" && !strings.HasPrefix(id, multipath) {
			continue
		}
		if _, err := os.Lstat(p.sys("block", dm, "slaves", name)); dm == name || err == nil {
			return dm, nil
		}
	}
	return "", nil
}

// multipath is how the UUIDs of multipath devices begin.
const multipath = "mpath-"

// session is a session of an iSCSI target.
type session struct {
	host int
	// dir is its directory in sysfs.
	dir     string
	portals []string
}

// sessions returns the sessions of a target.
//
// Upstream: pkg/volume/util/device_util_linux.go, GetISCSIPortalHostMapForTarget.
func (p *Plugin) sessions(iqn string) ([]session, error) {
	hosts, err := names(p.sys("class", "iscsi_host"))
	if err != nil {
		return nil, err
	}
	var out []session
	for _, host := range hosts {
		number, ok := numbered(host, "host")
		if !ok {
			continue
		}
		dir := p.sys("class", "iscsi_host", host, "device")
		all, err := names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if _, ok := numbered(name, "session"); !ok || value(dir, name, "iscsi_session", name, "targetname") != iqn {
				continue
			}
			s := session{host: number, dir: filepath.Join(dir, name)}
			if s.portals, err = portalsOf(s.dir); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// numbered returns the number in a name such as host3.
func numbered(name, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n >= 0
}

// portalsOf returns the portals to which a session is connected, and those that it was given.
func portalsOf(session string) (out []string, err error) {
	all, err := names(session)
	for _, c := range all {
		if !strings.HasPrefix(c, "connection") {
			continue
		}
		dir := filepath.Join(session, c, "iscsi_connection", c)
		for _, prefix := range []string{"", "persistent_"} {
			address, port := value(dir, prefix+"address"), value(dir, prefix+"port")
			if address == "" || port == "" {
				continue
			}
			if strings.Contains(address, ":") && !strings.HasPrefix(address, "[") {
				address = "[" + address + "]"
			}
			out = append(out, address+":"+port)
		}
	}
	return out, err
}

// sessionOf returns the session with a portal; false if there is none.
func sessionOf(all []session, portal string) (session, bool) {
	i := slices.IndexFunc(all, func(s session) bool { return slices.Contains(s.portals, portal) })
	if i < 0 {
		return session{}, false
	}
	return all[i], true
}

// disk returns the device of a session's LUN, such as sdb; "" for none.
//
// Upstream: pkg/volume/util/device_util_linux.go, FindDevicesForISCSILun.
func (s session) disk(lun string) (string, error) {
	all, err := names(filepath.Join(s.dir, fmt.Sprintf("target%d:0:0", s.host), fmt.Sprintf("%d:0:0:%s", s.host, lun), "block"))
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0], nil
}

// luns returns the LUNs of a session that have devices, by LUN.
func (s session) luns() (map[string]string, error) {
	all, err := names(filepath.Join(s.dir, fmt.Sprintf("target%d:0:0", s.host)))
	out := map[string]string{}
	for _, name := range all {
		lun, ok := strings.CutPrefix(name, fmt.Sprintf("%d:0:0:", s.host))
		if !ok {
			continue
		}
		disk, err := s.disk(lun)
		if err != nil {
			return nil, err
		}
		if disk != "" {
			out[lun] = disk
		}
	}
	return out, err
}

// lunOf returns the number of a LUN.
func lunOf(s string) (uint64, error) { return strconv.ParseUint(s, 10, 8) }
