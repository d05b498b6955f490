/* SPDX-License-Identifier: MIT */
/*
 * Libraries whose time is spent in assembly without unwind rules: work < main, built with -DGMP,
 * -DBLAS or -DX264. work() is whatever calls into the library.
 */
#include <stdint.h>
#include <stdlib.h>

#include "stack_burn.h"

#if defined(GMP)
#include <gmp.h>

static mpz_t a, b, c, m;

static void library_begin(void)
{
	mpz_inits(a, b, c, m, NULL);
	mpz_ui_pow_ui(a, 3, 3000);
	mpz_ui_pow_ui(b, 7, 1500);
	mpz_ui_pow_ui(m, 11, 1000);
}

KEEP void work(void)
{
	mpz_mul(c, a, b);
	mpz_powm_ui(c, a, 65537, m);
	mpz_tdiv_q(c, c, b);
	mpz_gcd(c, a, b);
	burn_sink++;
}

#elif defined(BLAS)
/* Fortran's. */
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
	    const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
	    const double *beta, double *c, const int *ldc);

void openblas_set_num_threads(int n);

#define N 300

static double a[N * N], b[N * N], c[N * N];

static void library_begin(void)
{
	openblas_set_num_threads(1); /* this one */
	for (int i = 0; i < N * N; i++)
		a[i] = b[i] = i;
}

KEEP void work(void)
{
	const double one = 1, none = 0;
	const int n = N;

	dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &none, c, &n);
	burn_sink++;
}

#elif defined(X264)
#include <x264.h>

#define WIDTH  320
#define HEIGHT 180

static x264_t *encoder;
static x264_picture_t picture;

static void library_begin(void)
{
	x264_param_t parameters;

	x264_param_default_preset(&parameters, "medium", NULL);
	parameters.i_log_level = X264_LOG_NONE;
	parameters.i_width = WIDTH;
	parameters.i_height = HEIGHT;
	parameters.i_threads = 1;
	parameters.i_csp = X264_CSP_I420;
	encoder = x264_encoder_open(&parameters);
	if (!encoder || x264_picture_alloc(&picture, X264_CSP_I420, WIDTH, HEIGHT))
		_exit(1);
}

KEEP void work(void)
{
	static uint32_t noise = 1;
	x264_picture_t out;
	x264_nal_t *units;
	int n;

	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		noise = noise * 1664525 + 1013904223;
		picture.img.plane[0][i] = (uint8_t)(i * 7 + picture.i_pts * 3 + (noise >> 28));
	}
	picture.i_pts++;
	if (x264_encoder_encode(encoder, &units, &n, &picture, &out) < 0)
		_exit(1);
	burn_sink++;
}
#endif

int main(void)
{
	library_begin();
	say_ready();
	while (again())
		work();
	return 0;
}
