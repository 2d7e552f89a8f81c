// Package query is the language of filters: words, regular expressions and
// comparisons of fields, all of which must hold.
//
//	web            has the word, whatever its case; Web minds the case
//	"two words"    has the text; also for what would mean something else
//	/we?b/ ~we?b   matches the regular expression
//	ns=shop        the field is shop, or a path that ends in /shop; != is not
//	image~redis    the field matches the regular expression; !~ does not
//	took>1.5s      the field is more; also >= < <=, with units as s, MiB, 85%, 12:03
//	>500ms         the row took longer
//	err            the row tells of an error
//	-web           not; works before all of these
//
// It owns no state, runs no goroutine and publishes no event. What a field is
// and which rows there are is its caller's.
package query
