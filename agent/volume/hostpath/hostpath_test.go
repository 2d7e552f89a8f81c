package hostpath_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/hostpath"
)

func TestTypes(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A relative address, because the length of a socket's path is limited.
	t.Chdir(dir)
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	for _, tc := range []struct {
		path string
		typ  v1.HostPathType
		want string // in the error
	}{
		{path: at("none"), typ: v1.HostPathUnset},
		{path: dir, typ: v1.HostPathDirectory},
		{path: at("link"), typ: v1.HostPathDirectory},
		{path: at("file"), typ: v1.HostPathFile},
		{path: at("socket"), typ: v1.HostPathSocket},
		{path: "/dev/null", typ: v1.HostPathCharDev},
		{path: at("made/deep"), typ: v1.HostPathDirectoryOrCreate},
		{path: at("made/deep"), typ: v1.HostPathDirectoryOrCreate},
		{path: at("touched"), typ: v1.HostPathFileOrCreate},
		{path: at("file"), typ: v1.HostPathFileOrCreate},

		{path: at("none"), typ: v1.HostPathDirectory, want: "hostPath type check failed, " + at("none") + ` is not a directory, unable to determine its type: path "` + at("none") + `" does not exist`},
		{path: at("file"), typ: v1.HostPathDirectory, want: "hostPath type check failed: " + at("file") + " is not a directory, it's a File"},
		{path: at("file"), typ: v1.HostPathDirectoryOrCreate, want: "is not a directory, it's a File"},
		{path: dir, typ: v1.HostPathFile, want: "is not a file, it's a Directory"},
		{path: dir, typ: v1.HostPathFileOrCreate, want: "is not a file, it's a Directory"},
		{path: at("none/deep"), typ: v1.HostPathFileOrCreate, want: "no such file"},
		{path: dir, typ: v1.HostPathSocket, want: "is not a socket file, it's a Directory"},
		{path: at("file"), typ: v1.HostPathCharDev, want: "is not a character device, it's a File"},
		{path: "/dev/null", typ: v1.HostPathBlockDev, want: "is not a block device, it's a CharDevice"},
		{path: at("socket"), typ: v1.HostPathBlockDev, want: "is not a block device, it's a Socket"},
		{path: at("pipe"), typ: v1.HostPathFile, want: "is not a file, unable to determine its type: only recognise file, directory, socket, block device and character device"},
		{path: dir, typ: "Folder", want: `hostPath.type "Folder": want Directory`},
	} {
		s := volume.Spec{Volume: &v1.Volume{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: tc.path, Type: &tc.typ}}}}
		got, err := hostpath.New().SetUp(t.Context(), s)
		switch {
		case tc.want == "" && (err != nil || got.HostPath != tc.path || got.ReadOnly || got.SELinuxRelabel):
			t.Errorf("%s as %s: %+v, %v", tc.path, tc.typ, got, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s as %s: error %v, want %q in it", tc.path, tc.typ, err, tc.want)
		}
		if _, err := hostpath.New().Version(s); err != nil {
			t.Error(err)
		}
	}
	for name, dir := range map[string]bool{"made/deep": true, "touched": false, "file": false} {
		if info, err := os.Stat(at(name)); err != nil || info.IsDir() != dir {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if data, _ := os.ReadFile(at("file")); string(data) != "kept" {
		t.Errorf("file reads %q", data)
	}
}

func TestErrorIsTyped(t *testing.T) {
	s := volume.Spec{Volume: &v1.Volume{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/none", Type: new(v1.HostPathFile)}}}}
	_, err := hostpath.New().SetUp(t.Context(), s)
	var wrong *hostpath.TypeError
	if !errors.As(err, &wrong) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
