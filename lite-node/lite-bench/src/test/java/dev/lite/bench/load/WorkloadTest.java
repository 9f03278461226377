package dev.lite.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WorkloadTest {
    @Test
    void aWorkloadCrossesTheProcessBoundaryAsALine() {
        Workload workload =
                Workload.calls(8).withFunctions(16, true).onVirtualThreads().withUnderWay(32);

        assertThat(Workload.parse(workload.toLine())).isEqualTo(workload);
    }

    @Test
    void itsNameSaysWhatDiffersFromOneCallerAndOneFunction() {
        assertThat(Workload.calls(1)).hasToString("call 8 B, 1 thread");
        assertThat(Workload.calls(8).withFunctions(2, false)).hasToString("call 8 B, 8 threads, 2 functions, receive");
        assertThat(Workload.outstanding(Workload.Kind.READ, 32, 4096))
                .hasToString("read 4 KiB, 1 thread, 32 under way");
    }
}
