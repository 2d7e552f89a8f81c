package cniwatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtime returns this configuration, after some errors.
type runtime struct {
	config string
	errors int
	asked  int
}

func (r *runtime) Status(_ context.Context, req *runtimeapi.StatusRequest, _ ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	r.asked++
	if r.asked <= r.errors {
		return nil, errors.New("not yet")
	}
	if !req.Verbose {
		return &runtimeapi.StatusResponse{}, nil
	}
	return &runtimeapi.StatusResponse{Info: map[string]string{"config": r.config}}, nil
}

func TestConfDir(t *testing.T) {
	for config, want := range map[string]string{
		`{"cni":{"binDirs":["/opt/cni/bin"],"confDir":"/etc/cni/net.d"}}`: "/etc/cni/net.d",
		`{"cni":{"confDir":"/etc/cni/net.d/"}}`:                           "/etc/cni/net.d",
		`{"cni":{"confDir":"net.d"}}`:                                     "",
		`{"cni":{}}`:                                                      "",
		`{"cni":7}`:                                                       "",
		`[crio]`:                                                          "",
		``:                                                                "",
	} {
		if got := confDir(map[string]string{"config": config}); got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

// TestRuntimeNamesNoDirectory: then there is nothing to do, even if the runtime responds late.
func TestRuntimeNamesNoDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runtime{errors: 2}
		w, err := New(Config{Runtime: r, Prompt: func() { t.Error("a prompt") }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := w.Run(t.Context()); err != nil || r.asked != 3 || time.Since(began) != 2*retry {
			t.Errorf("%v, asked %d times in %v", err, r.asked, time.Since(began))
		}
	})
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{Runtime: &runtime{}}); err == nil {
		t.Error("no Prompt is taken")
	}
	if _, err := New(Config{Prompt: func() {}}); err == nil {
		t.Error("no Runtime is taken")
	}
}
