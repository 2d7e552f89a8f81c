package server

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
)

func TestCurves(t *testing.T) {
	for _, c := range []struct {
		numbers []int32
		want    []tls.CurveID
		err     string
	}{
		{nil, nil, ""},
		{[]int32{29, 4588}, []tls.CurveID{tls.X25519, tls.X25519MLKEM768}, ""},
		{[]int32{23, 23}, nil, "tlsCurvePreferences: 23 (CurveP256) is there twice"},
		{[]int32{0}, nil, "tlsCurvePreferences: 0 is not supported"},
		{[]int32{-29}, nil, "tlsCurvePreferences: -29 is not supported"},
		{[]int32{29 + 1<<16}, nil, "tlsCurvePreferences: 65565 is not supported: must be a CurveID in crypto/tls, such as 29 (X25519)"},
	} {
		got, err := curves(c.numbers)
		if !slices.Equal(got, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, %v", c.numbers, got, err)
		}
	}
}
