package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

func TestReach(t *testing.T) {
	c, back := &Clients{}, 0
	c.OnBack(func() { back++ })
	for _, s := range []struct {
		code int
		err  error
		want int
	}{
		{code: 200, want: 0},
		{err: context.Canceled, want: 0},
		{code: 200, want: 0},
		{err: errors.New("connection refused"), want: 0},
		{code: 503, want: 0},
		{code: 404, want: 1},
		{code: 200, want: 1},
	} {
		c.reach.saw(&http.Response{StatusCode: s.code}, s.err)
		if back != s.want {
			t.Errorf("after %d %v: back %d times, want %d", s.code, s.err, back, s.want)
		}
	}
}
