package dev.lite.mr;

import dev.lite.mr.job.Job;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a job does, and with what. Start with {@link #of}; every {@code with} method returns a changed copy. Immutable.
 *
 * @param job the job's class; every worker has it on its class path
 * @param inputs at least one
 * @param format how inputs are cut into records
 * @param output where the result goes
 * @param parameters for {@link Job#setup}
 * @param partitions the number of reduce tasks, 1 to {@value #PARTITIONS_MAX}
 * @param splitBytes how much one map task reads, in bytes
 * @param workerWait how long the job waits for a worker while there is none
 */
public record JobSpec(
        Class<? extends Job> job,
        List<Input> inputs,
        RecordFormat format,
        Output output,
        Map<String, String> parameters,
        int partitions,
        long splitBytes,
        Duration workerWait) {
    /** The largest number of reduce tasks. */
    public static final int PARTITIONS_MAX = 256;

    private static final int PARTITIONS_DEFAULT = 4;
    private static final long SPLIT_BYTES_DEFAULT = 16 << 20;
    private static final Duration WORKER_WAIT_DEFAULT = Duration.ofSeconds(10);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if there is no input, a number is out of range, or the wait is negative
     */
    public JobSpec {
        inputs = List.copyOf(inputs);
        parameters = Map.copyOf(parameters);
        if (inputs.isEmpty()) {
            throw new IllegalArgumentException("the job %s has no input".formatted(job.getName()));
        }
        if (partitions < 1 || partitions > PARTITIONS_MAX) {
            throw new IllegalArgumentException(
                    "the job has %d partitions; it can have 1 to %d".formatted(partitions, PARTITIONS_MAX));
        }
        if (splitBytes < 1) {
            throw new IllegalArgumentException("a split of %d bytes; it needs at least 1".formatted(splitBytes));
        }
        if (workerWait.isNegative()) {
            throw new IllegalArgumentException(
                    "the wait for a worker is %s; it must not be negative".formatted(workerWait));
        }
    }

    /** A job over the lines of these inputs, with its result in memory. */
    public static JobSpec of(Class<? extends Job> job, Input... inputs) {
        return new JobSpec(
                job,
                List.of(inputs),
                RecordFormat.lines(),
                Output.memory(),
                Map.of(),
                PARTITIONS_DEFAULT,
                SPLIT_BYTES_DEFAULT,
                WORKER_WAIT_DEFAULT);
    }

    /** With records of this format. */
    public JobSpec withFormat(RecordFormat newFormat) {
        return new JobSpec(job, inputs, newFormat, output, parameters, partitions, splitBytes, workerWait);
    }

    /** With this output. */
    public JobSpec withOutput(Output newOutput) {
        return new JobSpec(job, inputs, format, newOutput, parameters, partitions, splitBytes, workerWait);
    }

    /** With this parameter. */
    public JobSpec withParameter(String name, String value) {
        Map<String, String> more = new HashMap<>(parameters);
        more.put(name, value);
        return new JobSpec(job, inputs, format, output, more, partitions, splitBytes, workerWait);
    }

    /** With these parameters, and no others. */
    public JobSpec withParameters(Map<String, String> newParameters) {
        return new JobSpec(job, inputs, format, output, newParameters, partitions, splitBytes, workerWait);
    }

    /** With so many reduce tasks; 4 by default. Twice the number of threads is a good number. */
    public JobSpec withPartitions(int newPartitions) {
        return new JobSpec(job, inputs, format, output, parameters, newPartitions, splitBytes, workerWait);
    }

    /** With splits of this size; 16 MiB by default. More threads than splits have nothing to do, so take smaller ones for a short input. */
    public JobSpec withSplitBytes(long newSplitBytes) {
        return new JobSpec(job, inputs, format, output, parameters, partitions, newSplitBytes, workerWait);
    }

    /** With this wait for a first worker, and for another one when all are lost; 10 s by default. */
    public JobSpec withWorkerWait(Duration newWait) {
        return new JobSpec(job, inputs, format, output, parameters, partitions, splitBytes, newWait);
    }
}
