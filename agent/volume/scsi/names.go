package scsi

import (
	"fmt"
	"regexp"
	"strings"
)

// maxElement is the kernel's limit of one element of a path, in bytes.
const maxElement = 255

// rule is what a name from a volume source must be. No name has a slash, begins with "-" or has two dots in a row: names become elements of
// paths and arguments of programs, and they must not be patterns of file names.
type rule struct {
	field string
	match *regexp.Regexp
	want  string
	max   int // bytes
}

var (
	portalRule    = rule{"targetPortal", regexp.MustCompile(`^[0-9A-Za-z\[][0-9A-Za-z.:_%\]-]*$`), "an address such as 192.0.2.1:3260 or [2001:db8::1]:3260", 120}
	iqnRule       = rule{"iqn", regexp.MustCompile(`^(iqn|eui|naa)\.[0-9A-Za-z.:_@=+~-]+$`), "a name such as iqn.2003-01.com.example:disk, without spaces, slashes and two dots in a row", 223}
	initiatorRule = rule{"initiatorName", iqnRule.match, iqnRule.want, iqnRule.max}
	ifaceRule     = rule{"iscsiInterface", regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:-]*$`), "a name such as default, of letters, digits and ._:-", 64}
	clonedRule    = rule{"Iface", portalRule.match, "letters, digits and .:_%[]-", maxElement - len("iface-")}
	wwnRule       = rule{"targetWWNs", regexp.MustCompile(`^[0-9A-Za-z]+$`), "letters and digits, such as 50060e801049cfd1", 64}
	wwidRule      = rule{"wwids", regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_.:=+@-]*$`), "an identifier such as 3600508b400105e210000900000490000, of letters, digits, spaces and _.:=+@-", 200}
	fsTypeRule    = rule{"fsType", regexp.MustCompile(`^([0-9A-Za-z][0-9A-Za-z._-]*)?$`), "the name of a file system, such as ext4", 32}
)

// check returns an error that names the field if a name breaks the rule. of is the volume source, such as iscsi.
func (r rule) check(of, name string) error {
	if r.match.MatchString(name) && len(name) <= r.max && !strings.Contains(name, "..") {
		return nil
	}
	return fmt.Errorf("%s.%s %.300q: want %s, of at most %d bytes", of, r.field, name, r.want, r.max)
}

// maxPaths limits the portals of a target, and the WWNs or WWIDs of a disk.
const maxPaths = 64

func checkCount(field string, n int) error {
	if n > maxPaths {
		return fmt.Errorf("%s has %d entries: want at most %d", field, n, maxPaths)
	}
	return nil
}

// checkLun returns an error for a LUN that the API server does not accept.
func checkLun(of string, lun int32) error {
	if lun < 0 || lun > 255 {
		return fmt.Errorf("%s.lun %d: must be from 0 to 255", of, lun)
	}
	return nil
}

// checkDir returns an error if the names are too long for the name of a directory.
func checkDir(what, name string) error {
	if len(name) > maxElement {
		return fmt.Errorf("%s: the name of the volume's directory would have %d bytes: want at most %d", what, len(name), maxElement)
	}
	return nil
}
