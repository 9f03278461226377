package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinuxTest {

    @Test
    void thisSystemIsSupported() {
        assertThat(Linux.unsupported()).isEmpty();
        assertThatCode(Linux::require).doesNotThrowAnyException();
        assertThat(Linux.pageSize()).isPositive();
        assertThat(Integer.bitCount(Linux.pageSize())).isOne();
    }

    @ParameterizedTest
    @CsvSource({"Mac OS X,aarch64,Mac OS X", "Windows 11,amd64,Windows 11", "Linux,riscv64,riscv64", "Linux,x86,x86"})
    void anUnsupportedSystemIsRefusedWithItsName(String os, String architecture, String named) {
        assertThat(Linux.unsupported(os, architecture))
                .hasValueSatisfying(
                        reason -> assertThat(reason).contains("LITE needs").contains("'" + named + "'"));
    }

    @ParameterizedTest
    @CsvSource({"Linux,amd64", "Linux,x86_64", "Linux,aarch64"})
    void linuxOnBothProcessorsIsSupported(String os, String architecture) {
        assertThat(Linux.unsupported(os, architecture)).isEmpty();
    }

    @Test
    void requireThrowsTheReason() {
        assertThatThrownBy(() -> Linux.require(Linux.unsupported("Mac OS X", "aarch64")))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("Mac OS X");
    }
}
