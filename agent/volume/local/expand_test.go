package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/mount-utils"
	"k8s.io/utils/exec"
	testingexec "k8s.io/utils/exec/testing"

	"github.com/kubeloupe/kubeloupe/agent/volume"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path        string
		block, disk bool
		format      string
		fails       error
		want        string // the commands, or the error
	}{
		"a directory": {path: dir},
		"a device":    {path: file, block: true},
		"a file":      {path: file, want: "only directory and block device are supported"},
		"nothing":     {path: file + "x", want: "no such file or directory"},
		"ext4":        {path: "/d", disk: true, format: "ext4", want: "resize2fs /d"},
		"xfs":         {path: "/d", disk: true, format: "xfs", want: "xfs_growfs -d /pod"},
		"a failure":   {path: "/d", disk: true, format: "ext4", fails: os.ErrInvalid, want: "expand the file system of /d: resize of device /d failed"},
	} {
		p, err := New(Config{RootDir: "/r", Mounter: mount.NewFakeMounter(nil)})
		if err != nil {
			t.Fatal(err)
		}
		ran := ""
		run := func(out string, err error) testingexec.FakeCommandAction {
			return func(cmd string, args ...string) exec.Cmd {
				ran = strings.Join(append([]string{cmd}, args...), " ")
				answer := func() ([]byte, []byte, error) { return []byte(out), nil, err }
				return &testingexec.FakeCmd{CombinedOutputScript: []testingexec.FakeAction{answer}}
			}
		}
		p.exec = &testingexec.FakeExec{CommandScript: []testingexec.FakeCommandAction{run(fmt.Sprintf("TYPE=%s\n", c.format), nil), run("", c.fails)}}
		if c.disk {
			p.isDisk = func(string) (bool, error) { return true, nil }
		}
		s := volume.Spec{Block: c.block, Place: volume.Place{Dir: "/pod", Name: "pv"}, PV: &v1.PersistentVolume{}}
		s.PV.Spec.Local = &v1.LocalVolumeSource{Path: c.path}
		done, err := p.Expand(t.Context(), s, resource.MustParse("1Gi"))
		if err != nil {
			ran = err.Error()
		}
		if done != (err == nil) || !strings.Contains(ran, c.want) || c.want == "" && ran != "" {
			t.Errorf("%s: done %t, %q, want %q", name, done, ran, c.want)
		}
	}
}
