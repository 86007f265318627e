// Package converttest makes the models that tests of package convert, of its forms and of the
// schemes quantize, writes them in memory, and reads them again. Tests alone import it.
package converttest
