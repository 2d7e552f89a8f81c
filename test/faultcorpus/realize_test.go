package faultcorpus_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/ownnet"
	"github.com/kubeloupe/kubeloupe/test/product"
	"github.com/kubeloupe/kubeloupe/trace"
)

var (
	realize = flag.Bool("realize", false, "make the cases happen on containerd")
	keep    = flag.String("keep", "", "directory for the recordings of -realize")
	only    = flag.String("cases", "", "make only the cases happen whose class/name matches this expression")
)

func TestMain(m *testing.M) {
	flag.Parse()
	time.Local = time.UTC
	if !*realize {
		os.Exit(m.Run()) // recordings need no containerd
	}
	build := lab.Build
	if match, err := regexp.Compile(*only); err == nil && len(chosen(match, true)) > 0 {
		build = lab.BuildCluster
	}
	ownnet.Main(m.Run, build, product.Fetch)
}

// chosen are the cases to make happen, with or without a cluster.
func chosen(match *regexp.Regexp, cluster bool) []fault {
	return slices.DeleteFunc(cases(), func(f fault) bool { return f.cluster != cluster || !match.MatchString(f.class+"/"+f.name) })
}

// TestRealize makes the cases happen, one after the other, and keeps their recordings.
func TestRealize(t *testing.T) {
	if !*realize {
		t.Skip("make fault-corpus makes the cases happen")
	}
	ownnet.Need(t)
	match, err := regexp.Compile(*only)
	if err != nil {
		t.Fatalf("-cases: %v", err)
	}
	if *keep == "" {
		*keep = t.TempDir()
	}
	for _, cluster := range []bool{false, true} {
		if list := chosen(match, cluster); len(list) > 0 {
			realizeAll(t, list, cluster)
		}
	}
}

// realizeAll makes cases happen on a bed of their own.
func realizeAll(t *testing.T, list []fault, cluster bool) {
	b, err := newBed(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range list {
		f := &list[i]
		t.Run(f.name, func(t *testing.T) {
			file := filepath.Join(*keep, f.name+".klr")
			s := b.scene(t)
			f.make(s)
			s.record(file)
			v, err := judge(f, file)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(v)
		})
	}
}

// bed is a laboratory that the cases share, in whose network's chain is a plugin that does as it is told.
type bed struct {
	*lab.Lab
	client
	api *apiServer // nil without a cluster
}

func newBed(ctx context.Context, cluster bool) (_ *bed, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kl-faults-")
	if err != nil {
		return nil, err
	}
	b, cfg := &bed{}, lab.Config{Dir: filepath.Join(dir, "lab"), Log: os.Stderr}
	if cluster {
		err = b.upCluster(ctx, cfg)
	} else {
		b.Lab, err = lab.Up(ctx, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err = b.dial(b.Lab); err == nil {
		err = b.putPlugin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// close takes the laboratory down. Its error names what would be left.
func (b *bed) close() error {
	b.client.close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return errors.Join(b.takeDown(ctx), os.RemoveAll(filepath.Dir(b.Dir)))
}

// record writes what the scene's last agent published so far to a file.
func (s *scene) record(file string) {
	s.t.Helper()
	cursor := s.bus.Subscribe(trace.FromOldest)
	defer cursor.Close()
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	w, err := recording.Create(file, recording.Options{Node: "node", Kubeloupe: "test"})
	if err != nil {
		s.t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := w.Run(ended, cursor); err != nil && ended.Err() == nil {
		s.t.Error(err)
	}
	if err := w.Close(); err != nil {
		s.t.Error(err)
	}
}
