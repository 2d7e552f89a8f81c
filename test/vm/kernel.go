package vm

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// kernel is Debian's kernel for clouds, as it is in the cache.
type kernel struct {
	image string
	// modules lists the files of those that are requested and what they rest on, in the order to load them.
	modules []string
}

// modules are what containers and their network need beyond what is built in.
var modules = []string{"overlay", "bridge", "veth"}

// findKernel fetches the kernel that Debian has now, unless it is in the cache.
func findKernel(ctx context.Context) (*kernel, error) {
	name, err := kernelPackage(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := lab.Cache()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "vm", name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err = fetch(ctx, name, dir)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	return openKernel(dir)
}

// kernelPackage is the package that linux-image-cloud-amd64 stands for.
func kernelPackage(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", "linux-image-cloud-amd64").Output()
	if err != nil {
		return "", fmt.Errorf("which kernel Debian has: apt-cache: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok && strings.HasPrefix(name, "linux-image-") {
			return name, nil
		}
	}
	return "", errors.New("no package linux-image-cloud-amd64 is known to apt: run apt-get update")
}

// fetch downloads a package, which apt checks, and keeps its kernel and the modules.
func fetch(ctx context.Context, name, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+name+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := command(ctx, tmp, "apt-get", "download", "-q", name); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("apt-get download left %d packages: %w", len(debs), err)
	}
	if err := command(ctx, tmp, "dpkg-deb", "-x", debs[0], "all"); err != nil {
		return err
	}
	kept := filepath.Join(tmp, "kept")
	if err := os.Mkdir(kept, 0o755); err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, m := range closure(filepath.Join(tmp, "all"), modules) {
		keep[m] = true
	}
	err = filepath.WalkDir(filepath.Join(tmp, "all"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasPrefix(d.Name(), "vmlinuz-"):
			return os.Rename(path, filepath.Join(kept, "vmlinuz"))
		case keep[path]:
			return os.Rename(path, filepath.Join(kept, d.Name()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.Rename(kept, dir)
}

func openKernel(dir string) (*kernel, error) {
	k := &kernel{image: filepath.Join(dir, "vmlinuz"), modules: closure(dir, modules)}
	if len(k.modules) < len(modules) {
		return nil, fmt.Errorf("kernel %s: it lacks some of the modules %s", dir, strings.Join(modules, ", "))
	}
	_, err := os.Stat(k.image)
	return k, err
}

// closure finds modules below dir and those that they depend on, which come first.
func closure(dir string, want []string) []string {
	files := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok && err == nil && !d.IsDir() {
			files[strings.ReplaceAll(name, "-", "_")] = path
		}
		return nil
	})
	var all []string
	var add func(name string)
	add = func(name string) {
		path := files[strings.ReplaceAll(name, "-", "_")]
		if path == "" || slices.Contains(all, path) {
			return
		}
		for _, d := range dependsOn(path) {
			add(d)
		}
		all = append(all, path)
	}
	for _, w := range want {
		add(w)
	}
	return all
}

// dependsOn reads a module's own list of the modules that it needs.
func dependsOn(path string) []string {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	s := f.Section(".modinfo")
	if s == nil {
		return nil
	}
	info, err := s.Data()
	if err != nil {
		return nil
	}
	for field := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(field), "depends="); ok && list != "" {
			return strings.Split(list, ",")
		}
	}
	return nil
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, said)
	}
	return nil
}
