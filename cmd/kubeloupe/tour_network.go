package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
)

// network is the pod network, which the tour breaks and fixes. Mending what is whole does nothing.
type network interface {
	breakIt() error
	mend() error
	// told says what is done to it.
	told() string
}

// simNetwork is that of the simulated runtime.
type simNetwork struct{ server *sim.Server }

func (n simNetwork) breakIt() error {
	n.server.BreakNetwork("bridge")
	return nil
}

func (n simNetwork) mend() error {
	n.server.MendNetwork()
	return nil
}

func (simNetwork) told() string { return "removes the CNI plugin bridge from the simulated node" }

// aside is the suffix of files that the runtime must not see.
const aside = ".kubeloupe-tour"

// confFiles is the network of a real runtime, which has one while there is a CNI configuration.
type confFiles struct{ dir string }

// newConfFiles restores the files that an earlier tour renamed before it was killed. It is an error if there is no configuration.
func newConfFiles(dir string) (*confFiles, error) {
	n := &confFiles{dir}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, err
	}
	if err := n.mend(); err != nil {
		return nil, err
	}
	files, err := n.files()
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no CNI configuration (.conflist, .conf or .json)", dir)
	}
	return n, err
}

func (n *confFiles) files() ([]string, error) {
	entries, err := os.ReadDir(n.dir)
	var out []string
	for _, e := range entries {
		if slices.Contains([]string{".conflist", ".conf", ".json"}, filepath.Ext(e.Name())) {
			out = append(out, filepath.Join(n.dir, e.Name()))
		}
	}
	return out, err
}

func (n *confFiles) breakIt() error {
	files, err := n.files()
	for _, f := range files {
		err = errors.Join(err, os.Rename(f, f+aside))
	}
	return err
}

// fix never replaces a file: somebody may have written a new one in the meantime, which then counts.
func (n *confFiles) mend() error {
	entries, err := os.ReadDir(n.dir)
	for _, e := range entries {
		to, moved := strings.CutSuffix(filepath.Join(n.dir, e.Name()), aside)
		if !moved {
			continue
		}
		f := to + aside
		if _, e := os.Lstat(to); e == nil {
			err = errors.Join(err, fmt.Errorf("%s exists again; the tour leaves the earlier file as %s", to, f))
			continue
		}
		err = errors.Join(err, os.Rename(f, to))
	}
	return err
}

func (n *confFiles) told() string {
	return "renames the files in " + n.dir + ", the runtime's CNI configuration"
}
