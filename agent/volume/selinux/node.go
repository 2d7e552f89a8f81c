package selinux

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// OfNode returns a translation with the policy of this node; nil if SELinux is not enabled on it.
//
// github.com/opencontainers/selinux, which upstream uses, does far more than to read two files, and would be most of the feature's size.
func OfNode() Translate {
	if !enabled() {
		return nil
	}
	return ofRoot("/")
}

// ofRoot returns a translation with the policy below a root directory, which is read once.
func ofRoot(root string) Translate {
	read := sync.OnceValues(func() (string, error) { return defaultFile(root) })
	return func(o *v1.SELinuxOptions) (string, error) {
		label, err := read()
		if err != nil {
			return "", err
		}
		return forFiles(label, o)
	}
}

// forFiles returns the default label of containers' files with the user and the level of the options. Role and type of a process are not those
// of its files. There is none if the policy has no default.
//
// Upstream: pkg/volume/util/selinux.go, SELinuxOptionsToFileLabel; opencontainers/selinux, go-selinux/label, InitLabels.
func forFiles(label string, o *v1.SELinuxOptions) (string, error) {
	if label == "" {
		return "", nil
	}
	parts := strings.SplitN(label, ":", 4)
	if len(parts) < 3 {
		return "", fmt.Errorf("the node's SELinux policy has the label %q for containers' files: want user:role:type:level", label)
	}
	if o.User != "" {
		parts[0] = o.User
	}
	return strings.Join(append(parts[:3], o.Level), ":"), nil
}

// defaultFile returns the label of containers' files in the policy; "" if it has none for containers.
//
// Upstream: opencontainers/selinux, go-selinux, ContainerLabels.
func defaultFile(root string) (string, error) {
	text, err := readIf(filepath.Join(root, "usr/share/containers/selinux/contexts"))
	if err == nil && text == "" {
		var config string
		if config, err = readIf(filepath.Join(root, "etc/selinux/config")); err == nil {
			text, err = readIf(filepath.Join(root, "etc/selinux", valueOf(config, "SELINUXTYPE"), "contexts/lxc_contexts"))
		}
	}
	if err != nil || valueOf(text, "process") == "" {
		return "", err
	}
	return valueOf(text, "file"), nil
}

// readIf reads a file of the policy; one that does not exist is empty.
func readIf(path string) (string, error) {
	text, err := wholefile.Read(path, wholefile.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// valueOf returns the last value of a key in lines such as file = "value"; "" if there is none.
func valueOf(text, key string) (value string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if k, v, ok := strings.Cut(line, "="); ok && strings.TrimSpace(k) == key {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return value
}
