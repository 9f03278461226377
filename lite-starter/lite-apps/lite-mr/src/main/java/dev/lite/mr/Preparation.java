package dev.lite.mr;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.mr.job.Job;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Checks a job before anything is allocated, and cuts its inputs.
 *
 * @param job an instance for the output, set up
 * @param splits what the map tasks read
 */
record Preparation(Job job, List<Plan.Split> splits) {
    /** The plan is searched at each step, so it has a bound. */
    private static final int SPLITS_MAX = 20_000;

    static Preparation of(Lite lite, JobSpec spec) {
        Job job = instantiate(spec.job(), spec.parameters());
        checkOutput(lite, spec.output());
        List<Plan.Split> splits = new ArrayList<>();
        for (int i = 0; i < spec.inputs().size(); i++) {
            addSplits(splits, i, size(lite, spec.inputs().get(i), spec.format()), spec.splitBytes());
        }
        return new Preparation(job, splits);
    }

    private static void addSplits(List<Plan.Split> splits, int input, long size, long splitBytes) {
        long count = (size + splitBytes - 1) / splitBytes;
        if (splits.size() + count > SPLITS_MAX) {
            throw new MrException("the inputs have more than %d splits of %d bytes; use larger ones"
                    .formatted(SPLITS_MAX, splitBytes));
        }
        for (long start = 0; start < size; start += splitBytes) {
            splits.add(new Plan.Split(input, start, Math.min(size, start + splitBytes)));
        }
    }

    private static long size(Lite lite, Input input, RecordFormat format) {
        try (Source source = Source.open(lite, input)) {
            long size = source.size();
            if (format.recordBytes() > 0
                    && (size < format.headerBytes() || (size - format.headerBytes()) % format.recordBytes() != 0)) {
                throw new MrException("%s has %d bytes; these are not records of %d bytes after a header of %d"
                        .formatted(input, size, format.recordBytes(), format.headerBytes()));
            }
            if (size < format.headerBytes()) {
                throw new MrException("%s has %d bytes; these are no lines after a header of %d"
                        .formatted(input, size, format.headerBytes()));
            }
            return size;
        } catch (UncheckedIOException e) {
            throw new MrException(String.valueOf(e.getMessage()), e);
        } catch (LiteException e) {
            throw new MrException("cannot read %s: %s".formatted(input, e.getMessage()), e);
        }
    }

    /** Makes an instance of a job, and sets it up. */
    static Job instantiate(Class<? extends Job> type, Map<String, String> parameters) {
        Job job = instantiate(type);
        try {
            job.setup(parameters);
            return job;
        } catch (LiteException | MrException e) {
            throw e;
        } catch (RuntimeException | LinkageError e) {
            throw new MrException("setup of %s failed: %s".formatted(type.getName(), e), e);
        }
    }

    private static Job instantiate(Class<? extends Job> type) {
        try {
            return type.getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new MrException(
                    "the job %s needs to be public, with a public constructor without parameters that works: %s"
                            .formatted(type.getName(), e),
                    e);
        }
    }

    private static void checkOutput(Lite lite, Output output) {
        switch (output) {
            case Output.Memory memory -> {}
            case Output.File file -> {
                Path directory = file.path().getParent();
                if (directory == null || !Files.isWritable(directory) || Files.isDirectory(file.path())) {
                    throw new MrException("cannot write file %s".formatted(file.path()));
                }
                ResultWriter.checkName(file.path());
            }
            case Output.Lmr lmr -> {
                try (LmrHandle existing = lite.memory().map(lmr.name(), Permission.READ)) {
                    throw new MrException("the output LMR \"%s\" exists already, with %d bytes"
                            .formatted(lmr.name(), existing.size()));
                } catch (LmrPermissionException e) {
                    throw new MrException("the output LMR \"%s\" exists already".formatted(lmr.name()), e);
                } catch (LmrNotFoundException e) {
                    // as it should be
                }
            }
        }
    }
}
