package runtimestate

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &fake{version: "1"}
		ready := []*runtimeapi.RuntimeCondition{is(runtimeapi.RuntimeReady, true), is(runtimeapi.NetworkReady, false)}
		rt.set(nil, ready...)
		s, err := New(rt, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := func(when, version string, requests int) {
			t.Helper()
			s.Check(t.Context())
			if got := s.Version().GetRuntimeVersion(); got != version || rt.versions != requests {
				t.Errorf("%s: version %q after %d requests, want %q after %d", when, got, rt.versions, version, requests)
			}
		}
		want("at the start, it is known", "", 0)
		time.Sleep(s.good) //nolint:forbidigo // the bubble's
		want("later", "1", 1)
		rt.version = "2"
		time.Sleep(s.good - time.Second) //nolint:forbidigo // the bubble's
		want("soon", "1", 1)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's
		want("later again", "2", 2)
		rt.set(errors.New("down"))
		want("down", "2", 2)
		rt.version = "3"
		rt.set(nil, ready...)
		want("up again", "3", 3)
		want("still", "3", 3)
		rt.mute = true
		time.Sleep(s.good) //nolint:forbidigo // the bubble's
		begin := time.Now()
		want("no answer", "3", 4)
		if took := time.Since(begin); took != versionLimit {
			t.Errorf("the check took %v", took)
		}
	})
}
