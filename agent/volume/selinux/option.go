package selinux

import (
	"fmt"
	"strings"
)

// MountOption returns the mount option for a label. It is quoted, because a label may contain commas.
func MountOption(label string) string { return fmt.Sprintf("context=%q", label) }

// LabelIn returns the label in the options of a mount, as the kernel lists them, split at commas; "" for none. The kernel quotes a label with
// commas only.
func LabelIn(options []string) string {
	_, rest, _ := strings.Cut(","+strings.Join(options, ","), ",context=")
	if quoted, is := strings.CutPrefix(rest, `"`); is {
		label, _, _ := strings.Cut(quoted, `"`)
		return label
	}
	label, _, _ := strings.Cut(rest, ",")
	return label
}
