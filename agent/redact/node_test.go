package redact

import (
	"errors"
	"io/fs"
	"testing"
)

func TestErrorAndRequest(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxyuser:proxy-password@proxy:3128")
	v := NewVault()
	v.LearnProxies()
	v.LearnRequest("staticPodURL", "https://web-user:web-password@host/pods?token=x", map[string][]string{
		"Authorization": {"Bearer header-value"}, "Accept": {"application/json"},
	})
	for text, want := range map[string]string{
		"proxy-password is wrong":           Mark + " is wrong",
		"web-password is wrong":             Mark + " is wrong",
		"no Bearer header-value":            "no " + Mark,
		"application/json is not supported": "application/json is not supported",
	} {
		err := errors.Join(errors.New(text), fs.ErrNotExist)
		got := v.Error(err)
		if want += "\nfile does not exist"; got.Error() != want || !errors.Is(got, fs.ErrNotExist) {
			t.Errorf("got %q, want %q, and errors.Is to see the cause", got, want)
		}
	}
	if got := v.Error(nil); got != nil {
		t.Errorf("got %v of no error", got)
	}
}
