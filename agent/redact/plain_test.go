package redact

import "testing"

// What is plain is changed by nothing: its changed forms need not be made.
func TestPlain(t *testing.T) {
	for _, value := range []string{"token.with-some_parts", "a", "0123456789"} {
		if !plain(value) {
			t.Errorf("%q is not plain", value)
		}
	}
	for b := range 256 {
		s := "secret" + string([]byte{byte(b)}) + "value"
		if !plain(s) {
			continue
		}
		for _, c := range changed(s) {
			if c != s {
				t.Errorf("%q is plain, and changed to %q", s, c)
			}
		}
	}
}
