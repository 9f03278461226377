package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class SharedObjectTest {
    @Test
    void loadsALibrary() {
        assertThatCode(() -> SharedObject.loadGlobally(Path.of("libm.so.6"))).doesNotThrowAnyException();
    }

    @Test
    void reportsWhyALibraryCannotBeLoaded() {
        assertThatThrownBy(() -> SharedObject.loadGlobally(Path.of("/nonexistent/library.so")))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessage("/nonexistent/library.so: cannot open shared object file: No such file or directory");
    }
}
