package dev.lite.samples.thumbnail;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LtMemory;
import dev.lite.test.LiteTest;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.DefaultApplicationArguments;

/** The gallery, with thumbnailers in this test. */
@LiteTest
class GalleryTests {

    private static final int PHOTOS = 6;

    @Autowired
    LtMemory memory;

    @Test
    void aFailedThumbnailEndsTheGalleryWithoutTheOtherPhotos() {
        CountDownLatch never = new CountDownLatch(1);
        AtomicInteger calls = new AtomicInteger();
        Thumbnails thumbnails = photo -> {
            if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("no thumbnailer");
            }
            try {
                throw new IllegalStateException(never.await(2, TimeUnit.SECONDS) ? "opened" : "too slow");
            } catch (InterruptedException e) {
                throw new IllegalStateException("interrupted", e);
            }
        };
        Gallery gallery = new Gallery(memory, thumbnails, new GalleryProperties(PHOTOS, 1, 160));

        assertThatThrownBy(() -> gallery.run(new DefaultApplicationArguments())).hasRootCauseMessage("no thumbnailer");
        assertThat(calls).hasValueLessThan(PHOTOS);
    }
}
