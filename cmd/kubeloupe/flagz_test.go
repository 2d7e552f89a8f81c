package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFlagsOf(t *testing.T) {
	var o nodeOptions
	c := &cobra.Command{}
	o.add(c)
	if err := c.ParseFlags([]string{"--hostname-override=lab-1", "--manifest-url-header=Authorization:Basic c2VjcmV0", "--manifest-url=https://me:secret@host/pods"}); err != nil {
		t.Fatal(err)
	}
	got := flagsOf(c)
	if got["hostname-override"] != "lab-1" || got["manifest-url-header"] != "CLASSIFIED" || len(got) < 50 {
		t.Errorf("%v", got)
	}
	if url := got["manifest-url"]; strings.Contains(url, "secret") || !strings.Contains(url, "host/pods") {
		t.Errorf("manifest-url is %s", url)
	}
}
